"""Irregular MPI communication, re-sorted on the way.

Ranks that send many small messages to many others, in a pattern that only the data knows, send few, full messages
instead. A `Context` says where communication takes place; it is made once from a communicator of mpi4py and is the
first argument of everything that communicates:

>>> from mpi4py import MPI
>>> import crossdock
>>> world = crossdock.Context(MPI.COMM_WORLD)
"""

from crossdock import errors, planning
from crossdock._array import DistributedArray, PreparedBatch
from crossdock._context import Context, Topology
from crossdock._extension import configuration
from crossdock._gather import GatherScatter, flag_duplicates
from crossdock._matrix import DistributedMatrix, TransposedMatrix
from crossdock._neighbor import NeighborExchange, Plan
from crossdock._pattern import NeighborList, Pattern
from crossdock._sparse import Message, Received, sparse_exchange
from crossdock._started import Traffic
from crossdock._stream import Stream, StreamPort
from crossdock.errors import *  # noqa: F403

__version__ = "0.1.0"
__all__ = [
    "Context", "DistributedArray", "DistributedMatrix", "GatherScatter", "Message", "NeighborExchange", "NeighborList",
    "Pattern", "Plan", "PreparedBatch", "Received", "Stream", "StreamPort", "Topology", "Traffic",
    "TransposedMatrix", "configuration", "flag_duplicates", "planning", "sparse_exchange", *errors.__all__,
]

from crossdock import demo


def test_the_demo_verifies_all_routes(world, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["demo"])
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    if world.rank == 0:
        assert len(lines) == 3 + len(demo.ROUTES)
        assert all(line.endswith("  yes") for line in lines[3:])
    else:
        assert lines == []

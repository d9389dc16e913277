from tests.designs.stage import alice, stranger, team, toy_world

__all__ = ["alice", "stranger", "team", "toy_world"]

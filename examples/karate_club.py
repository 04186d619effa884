"""Who was torn between the two sides of Zachary's karate club? Needs networkx, for the data."""

import networkx as nx

import blockmix as bm


def main() -> None:
    """Fit two communities and list the members whose side is in doubt."""
    club = nx.karate_club_graph()
    post = bm.fit(bm.Graph.from_networkx(club), communities=2, seed=1, sweeps=4000, held_out=0)
    hi = next(row.community for row in post.memberships() if row.node == 0)
    print("Members whose 90% interval for Mr. Hi's community holds both 0.25 and 0.75:")
    for row in post.memberships(level=0.9):
        if row.community == hi and row.lower < 0.25 and row.upper > 0.75:
            joined = club.nodes[row.node]["club"]
            print(f"  {row.node:>2}  {row.mean:.2f} [{row.lower:.2f}, {row.upper:.2f}]  joined {joined}")


if __name__ == "__main__":
    main()

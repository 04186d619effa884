"""From memberships to communities: lists of members, in which nodes may stand more than once."""

"""A party's answers under each protocol."""

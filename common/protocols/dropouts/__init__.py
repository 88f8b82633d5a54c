"""Releases by `masked` that go on when parties drop out for good: plan, masks, shares of keys, agreement."""

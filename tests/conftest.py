"""Settings of the whole suite."""

import hypothesis

hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

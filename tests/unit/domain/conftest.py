"""How the property tests of this directory run."""

from hypothesis import settings

settings.register_profile("domain", deadline=None)  # no test depends on the speed of the machine
settings.load_profile("domain")

import pytest

# Its asserts should explain themselves, though its name is not that of a test module.
pytest.register_assert_rewrite("tests.pipeline.bus.bus_contract", "tests.pipeline.bus.positions_contract")

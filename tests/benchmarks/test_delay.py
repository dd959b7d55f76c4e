from benchmarks.spark.delay import delays
from benchmarks.spark.live_files import LiveFile

SECOND = 1_000_000

WARM = 10.0


def test_the_delay_of_a_window_begins_when_the_first_event_past_its_lateness_can_be_read():
    files = [LiveFile(number * SECOND // 2, 1000 + number / 2) for number in range(20)]
    first = 1000.0
    batches = [(first, 2 * SECOND), (first + 1, 3 * SECOND), (first + WARM + 1, 5 * SECOND)]
    # windows that end at 4 s and 5 s close with events of 5 s and 6 s; the batch before was still warming up
    assert delays(batches, files, WARM) == [first + WARM + 1 - 1005, first + WARM + 1 - 1006]


def test_a_window_whose_file_is_not_noted_yet_has_no_delay_yet():
    batches = [(1000.0, 2 * SECOND), (1000.0 + WARM + 1, 3 * SECOND)]
    assert delays(batches, [LiveFile(SECOND, 1001.0)], WARM) == []

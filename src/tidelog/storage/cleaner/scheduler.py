"""Which log is cleaned when, by whom, and what becomes of it: the cleaner as the broker's loop sees it.

    tick       events of the workers; the next slice of a survey; jobs for the filthiest logs
    complete   completions of the FileSystem: the syncs of swaps, and the checkpoints

A round looks at all compacted logs (`survey`), then as many jobs are begun as there are workers free, the filthiest
first. While a worker is free the next round follows at once when a cleaning ended, and `log.cleaner.backoff.ms` after
one that found nothing. Workers never touch the log itself: what they hand over is swapped in here (`task`, `log.swap`).

What fails, and what that costs:

    the log changed under the job (truncation, DeleteRecords, deletion, another cleanup.policy)   the job alone
    the disk is full, or there is no descriptor left                 its log directory, until after the next backoff
    another fault of the disk                                                                     its log directory
    damage in a segment, a worker that dies or hangs, a bug                                       that partition

A partition that failed is set aside (`uncleanable`) until a restart, or until its log is truncated or made anew;
`take_problems` says so once.
"""

from collections.abc import Iterable
from functools import partial

from tidelog.model.ids import TopicPartition
from tidelog.ports.entropy import Entropy
from tidelog.ports.errors import PathFault, StorageFault
from tidelog.ports.files import Completion
from tidelog.ports.housekeeping import Cancelled, Event, Failed, Finished, Housekeeping, Stepped
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.job import BytesMoved, CleanedSegment, CleaningResult
from tidelog.storage.cleaner.log_facts import facts_of, job_of
from tidelog.storage.cleaner.metrics import CleanerCounts, CleanerMetrics, Uncleanable
from tidelog.storage.cleaner.selection import LogToClean, assess
from tidelog.storage.cleaner.survey import Candidate, Survey, begin_survey
from tidelog.storage.cleaner.swap import remove_all_cleaned
from tidelog.storage.cleaner.task import SILENCE_MS_MAX, CleaningTask
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.logs import Logs
from tidelog.storage.errors import LogError
from tidelog.storage.log.log import Log

_SEED_BYTES = 16
# The interval between two looks for workers that hang. A longer one is counted as this much: the machine slept or its
# clock was set, so the workers had no more time than that either.
_WATCH_MS = 5_000
_ATTEMPTS_MAX = 64  # candidates tried a turn: some of them need no cleaning any more


class LogCleaner:
    def __init__(
        self, logs: Logs, housekeeping: Housekeeping, entropy: Entropy, config: CleanerConfig, now_ms: int
    ) -> None:
        """The logs must be loaded. Waits for the disk where a checkpoint has to be corrected."""
        self._logs = logs
        self._housekeeping = housekeeping
        self._entropy = entropy
        self.config = config
        self.uncleanable: dict[TopicPartition, Uncleanable] = {}
        self.counts = CleanerCounts(now_ms)
        self._tasks: list[CleaningTask] = []  # including those that were called off, until they are over
        self._survey: Survey | None = None
        self._resting_since_ms: int | None = None
        self._watched_ms = now_ms
        self._problems: list[str] = []
        self._postponed: dict[str, int] = {}  # log directories that had no room, and when
        self._check_offsets()

    def _check_offsets(self) -> None:
        for directory in self._logs.directories.values():
            if directory.is_online:
                try:
                    directory.cleaner_offsets.keep(partial(_is_believable, directory))
                except StorageFault as fault:
                    self._logs.report(directory.path, fault)

    # What the loop asks

    @property
    def deadline_ms(self) -> int | None:
        """The time at which `tick` has something to do, if no worker reports before; None where it has nothing to do
        until then."""
        if self._survey is not None:
            return 0
        watch_ms = self._watched_ms + _WATCH_MS if self._tasks else None
        if self._free_workers <= 0:
            return watch_ms
        look_ms = 0 if self._resting_since_ms is None else self._resting_since_ms + self.config.backoff_ms
        return look_ms if watch_ms is None else min(look_ms, watch_ms)

    @property
    def is_busy(self) -> bool:
        """Tell whether a cleaning, a swap or a checkpoint is under way. To stop in order: `call_off_all`, then go on
        with `tick` and `complete` until this is false, then stop the housekeeping and close the logs."""
        return bool(self._tasks) or any(each.cleaner_offsets.is_writing for each in self._logs.directories.values())

    @property
    def has_news(self) -> bool:
        """Tell whether a worker has events for `tick` for which the loop is not woken."""
        return bool(self._tasks) and self._housekeeping.has_events

    @property
    def in_progress(self) -> list[TopicPartition]:
        return [task.partition for task in self._tasks if not task.is_called_off]

    def take_problems(self) -> list[str]:
        """Return the reasons why partitions were set aside since the last call."""
        problems, self._problems = self._problems, []
        return problems

    def metrics(self, now_ms: int) -> CleanerMetrics:
        return self.counts.metrics(now_ms, self.uncleanable)

    def reconfigure(self, config: CleanerConfig) -> None:
        """Take over new settings. Jobs that were granted more memory than one gets now are called off; others go on as
        they are."""
        self.config = config
        for task in self._tasks:
            if not config.workers_max or task.job.settings.dedupe_buffer_bytes > config.dedupe_share_bytes:
                self._call_off(task)

    def call_off_all(self) -> None:
        """Call off every cleaning and begin no new one: the broker stops."""
        self.reconfigure(CleanerConfig(is_enabled=False))

    # What the loop tells

    def tick(self, now_ms: int) -> None:
        for event in self._housekeeping.events():
            self._take(event, now_ms)
        self._watch(now_ms)
        for task in self._tasks:
            if not task.is_called_off and not task.is_current:
                self._call_off(task)
        self._advance_all(now_ms)
        self._look_around(now_ms)

    def complete(self, completions: Iterable[Completion], now_ms: int) -> None:
        for completion in completions:
            task = next((each for each in self._tasks if each.ticket == completion.ticket), None)
            if task is not None:
                self._proceed(task, completion)
            for directory in self._logs.directories.values():
                fault = directory.cleaner_offsets.complete(completion)
                if fault is not None:
                    self._logs.report(directory.path, fault)
        self._advance_all(now_ms)

    # Choosing

    @property
    def _free_workers(self) -> int:
        return self.config.workers_max - len(self._tasks)

    def _look_around(self, now_ms: int) -> None:
        if self._free_workers <= 0:
            self._survey = None
            return
        if self._survey is None:
            if self._is_recent(self._resting_since_ms, now_ms):
                return
            self._survey = begin_survey(self._logs)
            self.counts.last_run_ms = now_ms
        self._survey.advance(partial(self._assess, now_ms=now_ms))
        if self._survey.is_done:
            self._end_round(self._survey, now_ms)

    def _is_recent(self, since_ms: int | None, now_ms: int) -> bool:
        """Tell whether `since_ms` is less than one backoff ago. A time in the future is not recent: the clock was set
        back, and the rest could be a long one."""
        return since_ms is not None and since_ms <= now_ms < since_ms + self.config.backoff_ms

    def _end_round(self, survey: Survey, now_ms: int) -> None:
        self._survey = None
        self.counts.dirty_ratio_max, self.counts.overdue_ms_max = survey.dirty_ratio_max, survey.overdue_ms_max
        self.uncleanable = {each: it for each, it in self.uncleanable.items() if self._is_still_there(it)}
        for candidate in survey.filthiest_first()[:_ATTEMPTS_MAX]:
            if self._free_workers <= 0:
                break
            self._begin(candidate, now_ms)
        self._resting_since_ms = now_ms

    def _is_still_there(self, it: Uncleanable) -> bool:
        return self._logs.get(it.partition) is it.log and it.is_still_valid

    def _assess(self, log: Log, directory: LogDirectory, now_ms: int) -> LogToClean | None:
        """Return how much of the log could be cleaned; None where it may not be cleaned now, or no longer since the
        round began."""
        partition = log.topic_partition
        is_current = directory.is_online and directory.logs.get(partition) is log and log.config.compacts
        if (
            not is_current
            or self._is_in_other_hands(log)
            or self._is_recent(self._postponed.get(directory.path), now_ms)
        ):
            return None
        try:
            assessed = assess(facts_of(log, directory), now_ms)
        except StorageFault as fault:
            self._logs.report(directory.path, fault)
            return None
        except LogError as error:
            self._set_aside(log, directory, str(error), now_ms)
            return None
        aside = self.uncleanable.get(partition)
        if aside is None or aside.log is not log or not aside.is_still_valid:
            return assessed
        aside.dirty_bytes = assessed.cleanable_bytes
        return None

    def _is_in_other_hands(self, log: Log) -> bool:
        """Tell whether the log is being moved to another directory, is being cut, or has a worker at it, even one whose
        cleaning was called off."""
        moving = any(log.topic_partition in each.futures for each in self._logs.directories.values())
        return moving or log.is_unsettled or any(task.job.directory == log.directory for task in self._tasks)

    def _begin(self, candidate: Candidate, now_ms: int) -> None:
        log, directory, _ = candidate
        assessed = self._assess(log, directory, now_ms)  # again: the log may have changed since its turn in the round
        if assessed is None or not assessed.is_due:
            return
        try:
            remove_all_cleaned(log.descriptors, log.directory)
            seed = self._entropy.random_bytes(_SEED_BYTES)
            job = job_of(log, assessed, self.config.settings_for(log.config), seed, now_ms)
        except StorageFault as fault:
            self._logs.report(directory.path, fault)
            return
        except LogError as error:
            self._set_aside(log, directory, str(error), now_ms)
            return
        work = self._housekeeping.begin(job)
        self._tasks.append(CleaningTask(log, directory, job, work, now_ms))
        log.is_being_cleaned = True

    # Going on

    def _watch(self, now_ms: int) -> None:
        """Kill the workers that hang."""
        passed_ms, self._watched_ms = min(max(0, now_ms - self._watched_ms), _WATCH_MS), now_ms
        for task in self._tasks:
            task.silence_ms += passed_ms
            if task.is_silent:
                task.is_killed = True
                self._housekeeping.kill(task.work)

    def _take(self, event: Event, now_ms: int) -> None:
        task = next((each for each in self._tasks if each.work == event.work), None)
        if task is None:
            return
        task.silence_ms = 0
        match event:
            case Stepped(step=BytesMoved(read, written)):
                self.counts.bytes_moved += read + written
            case Stepped(step=CleanedSegment() as cleaned):
                task.ready.append(cleaned)
            case Finished(result=CleaningResult() as result):
                task.worker_ended = True
                task.result = result
            case Failed():
                task.worker_ended = True
                self._take_failure(task, event, now_ms)
            case Cancelled():
                task.worker_ended = True
                self._call_off(task)
            case _:
                raise TypeError(f"not what a cleaning says: {event}")

    def _take_failure(self, task: CleaningTask, failed: Failed, now_ms: int) -> None:
        """Take note that a worker failed. Where the log changed under the worker that is the reason, and nothing counts
        as failed."""
        self.counts.dead_workers += failed.worker_died
        if task.is_current and not task.is_called_off:
            self.counts.cleanings_failed += 1
            if failed.fault is None or isinstance(failed.fault, PathFault):
                hung = f"its worker said nothing for {SILENCE_MS_MAX // 60_000} minutes and was killed"
                self._set_aside(task.log, task.directory, hung if task.is_killed else failed.reason, now_ms)
            else:
                self._logs.report(task.directory.path, failed.fault)
                self._postponed[task.directory.path] = now_ms
                self._resting_since_ms = None  # others may have room
        self._call_off(task)

    def _proceed(self, task: CleaningTask, completion: Completion) -> None:
        if not task.directory.is_online:
            task.ticket = None
            self._call_off(task)  # the swap stays half done, so the next one must not begin
            return
        try:
            task.proceed(completion)
        except StorageFault as fault:
            self._lose(task, fault)

    def _advance_all(self, now_ms: int) -> None:
        for task in list(self._tasks):
            self._advance(task, now_ms)
            if task.is_over:
                self._end(task, now_ms)

    def _advance(self, task: CleaningTask, now_ms: int) -> None:
        """Swap in the next segment that is ready, unless a swap is under way."""
        if task.is_called_off or task.is_swapping or not task.ready:
            return
        try:
            if not task.swap_next(now_ms):
                self._call_off(task)
        except StorageFault as fault:
            self._lose(task, fault)

    def _lose(self, task: CleaningTask, fault: StorageFault) -> None:
        self._logs.report(task.directory.path, fault)
        self._call_off(task)

    def _call_off(self, task: CleaningTask) -> None:
        if task.is_called_off:
            return
        task.is_called_off, task.silence_ms = True, 0
        task.log.is_being_cleaned = False
        if not task.worker_ended:
            self._housekeeping.cancel(task.work)

    def _end(self, task: CleaningTask, now_ms: int) -> None:
        self._tasks.remove(task)
        task.log.is_being_cleaned = False
        try:
            if not task.is_called_off and task.is_current:
                self._note_clean(task, now_ms)
            elif task.directory.is_online:
                task.remove_left_overs()
        except StorageFault as fault:
            self._logs.report(task.directory.path, fault)
        if task.is_complete or task.partition in self.uncleanable:
            self._resting_since_ms = None  # on to the next log; after a call-off that would be the same one

    def _note_clean(self, task: CleaningTask, now_ms: int) -> None:
        assert task.result is not None
        end_offset, stats = task.result.end_offset, task.result.stats
        if end_offset <= task.job.first_dirty_offset:
            reason = f"not one record behind offset {end_offset} could be cleaned: the dedupe buffer is too small"
            self._set_aside(task.log, task.directory, reason, now_ms)
            return
        self.counts.note_cleaning(stats, now_ms - task.began_ms, self.config.workers_max)
        task.directory.cleaner_offsets.put(task.partition, end_offset, task.directory.logs)

    def _set_aside(self, log: Log, directory: LogDirectory, reason: str, now_ms: int) -> None:
        partition = log.topic_partition
        self.uncleanable[partition] = Uncleanable(partition, directory.path, reason, now_ms, log, log.generation)
        self._problems.append(f"{partition} in {directory.path}: {reason}")


def _is_believable(directory: LogDirectory, partition: TopicPartition, offset: int) -> bool:
    log = directory.logs.get(partition)
    limit = directory.stored_offsets(partition).recovery_point
    return log is not None and offset <= min(limit, log.log_end_offset)

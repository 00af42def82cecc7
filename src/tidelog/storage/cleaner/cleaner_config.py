"""The broker's settings of the cleaner, and the share of them that one worker gets."""

from tidelog.config.broker_config import BrokerConfig
from tidelog.config.settings import cleaner
from tidelog.config.topic_config import TopicConfig
from tidelog.model.lazy_dataclass import dataclass
from tidelog.storage.cleaner.job import NO_IO_LIMIT, CleanerSettings
from tidelog.storage.segment.settings import index_settings


@dataclass(slots=True)
class CleanerConfig:
    is_enabled: bool = True
    threads: int = 1
    dedupe_buffer_bytes: int = 128 << 20
    io_buffer_bytes: int = 512 << 10
    load_factor: float = 0.9
    io_bytes_per_second_max: float = NO_IO_LIMIT
    backoff_ms: int = 15_000

    @property
    def workers_max(self) -> int:
        return self.threads if self.is_enabled else 0

    @property
    def dedupe_share_bytes(self) -> int:
        return self.dedupe_buffer_bytes // max(1, self.threads)

    def settings_for(self, topic: TopicConfig) -> CleanerSettings:
        threads = max(1, self.threads)
        return CleanerSettings(
            self.dedupe_share_bytes,
            self.load_factor,
            self.io_buffer_bytes // threads,
            index_settings(topic),
            topic.segment_bytes_max,
            topic.delete_retention_ms,
            self.io_bytes_per_second_max / threads,
        )


def cleaner_config(config: BrokerConfig) -> CleanerConfig:
    return CleanerConfig(
        config.get(cleaner.LOG_CLEANER_ENABLE),
        config.get(cleaner.LOG_CLEANER_THREADS),
        config.get(cleaner.LOG_CLEANER_DEDUPE_BUFFER_SIZE),
        config.get(cleaner.LOG_CLEANER_IO_BUFFER_SIZE),
        config.get(cleaner.LOG_CLEANER_IO_BUFFER_LOAD_FACTOR),
        config.get(cleaner.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND),
        config.get(cleaner.LOG_CLEANER_BACKOFF_MS),
    )

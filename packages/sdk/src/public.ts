export type {
  Assignment,
  ConsumerGroup,
  ConsumerGroupDetails,
  ConsumerGroupMember,
  CreateGroup,
  GroupTarget,
} from "./api/groups.js";
export type { CallOptions } from "./api/caller.js";
export type { ClientDetails, ClientInfo } from "./api/clients.js";
export { Role, Status, type ClusterMetadata, type ClusterNode, type PartitionRouteInfo } from "./api/cluster.js";
export type { ConsumerTarget, PartitionTarget } from "./api/consumer-target.js";
export type { FetchResult, FetchSection } from "./api/fetches.js";
export type {
  FetchMessages,
  FetchTarget,
  PlainPollMessages,
  PollMessages,
  SendIdempotent,
  SendMessages,
} from "./api/messages.js";
export type {
  GetMetadataChanges,
  MetadataChange,
  MetadataChangesPage,
  MetadataGroupName,
  MetadataItem,
  MetadataRecord,
} from "./api/metadata-changes.js";
export type { ConsumerOffset } from "./api/offsets.js";
export type { RetainedOperation } from "./api/operations.js";
export type { CreateMessage } from "./api/outgoing-messages.js";
export type { ChangePartitions, DeleteSegments } from "./api/partitions.js";
export type {
  GlobalPermissions,
  StreamPermissions,
  TopicPermissions,
  UserPermissions,
  UserPermissionsInput,
} from "./api/permissions.js";
export type { RawOptions } from "./api/raw.js";
export type { SendConfirmation, SendResult } from "./api/sends.js";
export type { IdentityInfo } from "./api/session.js";
export type { CreateStream, Stream, StreamDetails, StreamEncryption, UpdateStream } from "./api/streams.js";
export type { OptionSpec, SnapshotOptions, Stats } from "./api/system.js";
export type { CreateToken, PersonalAccessToken } from "./api/tokens.js";
export {
  CompressionAlgorithm,
  type Durability,
  type ResolvedTopicOptions,
  type SizeInput,
  type TopicOptionFields,
} from "./api/topic-options.js";
export type { CreateTopic, Partition, Topic, TopicDetails, TopicTarget, UpdateTopic } from "./api/topics.js";
export { type BaseUser, type CreateUser, type UpdateUser, type User, UserStatus } from "./api/users.js";
export type { RequestInfo, ResponseInfo, Instrumentation } from "./calls/call-run.js";
export type { ConnectionInfo } from "./client/client.js";
export {
  type ClientConfig,
  DEFAULT_HEARTBEAT_INTERVAL,
  DEFAULT_MAX_RESPONSE_FRAME_SIZE,
  type HttpConfig,
  MAX_HEARTBEAT_INTERVAL,
  type Partitioner,
  type ReconnectConfig,
  type TlsConfig,
  type TransportName,
  type TransportOptions,
  Transports,
} from "./client/config.js";
export { formatConnectionString, parseConnectionString } from "./client/connection-string.js";
export type { ClientEvent } from "./client/emitter.js";
export type { MessageConsumer } from "./consumer/consumer.js";
export type { ConsumerGroupOptions, ConsumerOptions, TypedPayload } from "./consumer/consumer-options.js";
export {
  type Backoff,
  type DeadLetter,
  DeadLetterHeader,
  type HandleOptions,
  type HandlerContext,
  type MessageHandler,
  type RunOptions,
} from "./consumer/handling/index.js";
export type { Received } from "./consumer/received.js";
export { Aes256GcmEncryptor, Aes256GcmSivEncryptor, type Encryptor } from "./encryption/index.js";
export * from "./errors/public.js";
export {
  InvalidPayloadError,
  jsonPayload,
  type PayloadCodec,
  type SchemaInput,
  type SchemaIssue,
  type SchemaOutput,
  schemaPayload,
  type StandardSchema,
} from "./payload/index.js";
export type { SendFailure } from "./producer/background/failure-reports.js";
export type { IdempotentOptions, ProducerIdentity, SavedIdentity } from "./producer/idempotent/idempotent-options.js";
export type { MessageTracing } from "./producer/message-tracing.js";
export type { ProducerMessage } from "./producer/prepared-send.js";
export type { ClientPoolOptions, PooledClient } from "./pool/index.js";
export type {
  MetadataChangesOptions,
  MetadataEvent,
  MetadataMirror,
  MetadataMirrorEventName,
  MetadataMirrorEvents,
  MetadataMirrorOptions,
  MirroredGroup,
  MirroredStream,
  MirroredTopic,
  MirroredUser,
} from "./metadata/index.js";
export type { Producer, ProducerSendOptions, SendTo } from "./producer/producer.js";
export type { ProducerOptions, ShardedSend, Sharding, TypedProducerOptions } from "./producer/producer-options.js";
export type {
  ConsumerEventName,
  ConsumerEvents,
  PartitionFigures,
  PartitionReader,
  PartitionReaderOptions,
  ReaderEventName,
} from "./reader/index.js";
export type { Credentials, CredentialsSource, PasswordCredentials, TokenCredentials } from "./session/credentials.js";
export type { ClientEventName, ClientEvents } from "./session/events.js";
export type { QuicConnection, QuicDial, QuicHandlers, QuicProvider } from "./transport/index.js";
export type { BytesLike, U64Like } from "./values/check.js";
export { Consumer } from "./values/consumer.js";
export type { Duration } from "./values/duration.js";
export {
  type HeaderEntry,
  type HeaderInput,
  type HeaderInputs,
  HeaderKeyFactory,
  HeaderValue,
} from "./values/headers.js";
export { Id } from "./values/id.js";
export { type Message, type MessageHeaders, type ParsedHeaderEntry } from "./values/message.js";
export { type MessageId, messageIdText } from "./values/message-id.js";
export type { OptionEntry, OptionInput, OptionInputs, OptionValue, OptionValues } from "./values/options.js";
export { Partitioning } from "./values/partitioning.js";
export { type AutoCommitOptions, type CommitAfter, CommitPolicy, type PollOptions } from "./values/poll-options.js";
export type { PolledMessages } from "./values/polled-messages.js";
export { PollingStrategy } from "./values/polling-strategy.js";
export { Checkpoint, type PartitionContext } from "./values/position.js";
export { sdkVersion } from "./version.js";
export { commands as COMMANDS, ErrorCode } from "@iggy/protocol";

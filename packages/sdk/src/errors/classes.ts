import { ErrorCode } from "@iggy/protocol";
import { IggyError, type ErrorDetails } from "./iggy-error.js";

/** A refusal by the server without a finer class, and the base of the finer ones. */
export class ResponseError extends IggyError {
  static override readonly className: string = "ResponseError";
}

export class AuthenticationError extends ResponseError {
  static override readonly className: string = "AuthenticationError";
}

/** 40: no session, no or a bad credential. */
export class UnauthenticatedError extends AuthenticationError {
  static override readonly className: string = "UnauthenticatedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.Unauthenticated, message, details);
  }
}

/** 42: unknown user or wrong password. */
export class InvalidCredentialsError extends AuthenticationError {
  static override readonly className: string = "InvalidCredentialsError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.InvalidCredentials, message, details);
  }
}

/** 41: the user lacks the permission. */
export class UnauthorizedError extends ResponseError {
  static override readonly className: string = "UnauthorizedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.Unauthorized, message, details);
  }
}

export class NotFoundError extends ResponseError {
  static override readonly className: string = "NotFoundError";
}

export class AlreadyExistsError extends ResponseError {
  static override readonly className: string = "AlreadyExistsError";
}

export class LimitError extends ResponseError {
  static override readonly className: string = "LimitError";
}

/** An argument or a request that can not work, found here or by the server. */
export class ValidationError extends ResponseError {
  static override readonly className: string = "ValidationError";
}

/** The server could not do it now. */
export class TransientError extends ResponseError {
  static override readonly className: string = "TransientError";
}

/** 58: nothing was sent, or nothing was accepted. */
export class TransientNotAcceptedError extends TransientError {
  static override readonly className: string = "TransientNotAcceptedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.TransientNotAccepted, message, details);
  }
}

/** 57: no reply to a read. */
export class TransientNotCommittedError extends TransientError {
  static override readonly className: string = "TransientNotCommittedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.TransientNotCommitted, message, details);
  }
}

/** The time of a call ended. `cause` is the 57 or 58 that says whether something was sent. */
export class TimeoutError extends TransientError {
  static override readonly className: string = "TimeoutError";
  /** The time that the call had, ms. */
  readonly timeout: number;
  constructor(code: 57 | 58 | 90, message: string, timeout: number, details?: ErrorDetails) {
    super(code, message, details);
    this.timeout = timeout;
  }
}

export class ConnectionError extends IggyError {
  static override readonly className: string = "ConnectionError";
}

/** 8: the link went away while a request waited, or the client is disconnected. */
export class DisconnectedError extends ConnectionError {
  static override readonly className: string = "DisconnectedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.Disconnected, message, details);
  }
}

/** 61: the client holds no link. */
export class NotConnectedError extends ConnectionError {
  static override readonly className: string = "NotConnectedError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.NotConnected, message, details);
  }
}

/** 63: the client was closed for good. */
export class ClientShutdownError extends ConnectionError {
  static override readonly className: string = "ClientShutdownError";
  constructor(message = "the client was closed", details?: ErrorDetails) {
    super(ErrorCode.ClientShutdown, message, details);
  }
}

/** The history of a partition or its owner is not the one that the request named. */
export class PartitionHistoryError extends ResponseError {
  static override readonly className: string = "PartitionHistoryError";
}

export class OperationError extends IggyError {
  static override readonly className: string = "OperationError";
}

interface OperationDetails extends ErrorDetails {
  /** Names the operation for `client.operation`. */
  readonly operationId: bigint;
}

/** An error that names a retained operation. */
abstract class RetainedOperationError extends OperationError {
  readonly operationId: bigint;
  protected constructor(code: number, message: string, details: OperationDetails) {
    super(code, message, { ...details, context: { ...details.context, operationId: details.operationId } });
    this.operationId = details.operationId;
  }
}

/** 14006: a sent write may have committed. It is retained and blocks its lane. */
export class OperationUncertainError extends RetainedOperationError {
  static override readonly className: string = "OperationUncertainError";
  constructor(message: string, details: OperationDetails) {
    super(ErrorCode.OperationUncertain, message, details);
  }
}

/** 14007: an earlier operation with an unknown outcome blocks the lane. This call was not sent. */
export class LaneBlockedError extends RetainedOperationError {
  static override readonly className: string = "LaneBlockedError";
  constructor(message: string, details: OperationDetails) {
    super(ErrorCode.LaneBlocked, message, details);
  }
}

/** 14008: the outcome is unknown and can no longer be learned. */
export class OperationNotRetainedError extends RetainedOperationError {
  static override readonly className: string = "OperationNotRetainedError";
  constructor(message: string, details: OperationDetails) {
    super(ErrorCode.OperationNotRetained, message, details);
  }
}

/** 14009: a committing read of the partition has an unknown outcome. This call was not sent. */
export class PartitionLaneBlockedError extends RetainedOperationError {
  static override readonly className: string = "PartitionLaneBlockedError";
  readonly partitionId: number;
  constructor(message: string, partitionId: number, details: OperationDetails) {
    super(ErrorCode.PartitionLaneBlocked, message, { ...details, context: { ...details.context, partitionId } });
    this.partitionId = partitionId;
  }
}

/** 14010: this committing read has an unknown outcome. It is never sent again. */
export class FetchProgressUncertainError extends RetainedOperationError {
  static override readonly className: string = "FetchProgressUncertainError";
  constructor(message: string, details: OperationDetails) {
    super(ErrorCode.FetchProgressUncertain, message, details);
  }
}

export class SessionError extends IggyError {
  static override readonly className: string = "SessionError";
}

export class ProducerError extends ResponseError {
  static override readonly className: string = "ProducerError";
}

/** 4057: the producer was closed. */
export class ProducerClosedError extends ProducerError {
  static override readonly className: string = "ProducerClosedError";
  constructor(message = "the producer was closed", details?: ErrorDetails) {
    super(ErrorCode.ProducerClosed, message, details);
  }
}

interface ProtocolVersions {
  readonly client: string;
  readonly serverMin: string;
  readonly serverMax: string;
}

/** 14003: the server does not speak the client's protocol version. */
export class IncompatibleProtocolVersionError extends IggyError {
  static override readonly className: string = "IncompatibleProtocolVersionError";
  readonly client: string;
  readonly serverMin: string;
  readonly serverMax: string;
  constructor(versions: ProtocolVersions, details?: ErrorDetails) {
    super(
      ErrorCode.IncompatibleProtocolVersion,
      `the client speaks protocol ${versions.client}, the server ${versions.serverMin} to ${versions.serverMax}`,
      details,
    );
    this.client = versions.client;
    this.serverMin = versions.serverMin;
    this.serverMax = versions.serverMax;
  }
}

/** 5: the transport, the build or the kind of consumer can not do this. */
export class FeatureUnavailableError extends ResponseError {
  static override readonly className: string = "FeatureUnavailableError";
  constructor(message?: string, details?: ErrorDetails) {
    super(ErrorCode.FeatureUnavailable, message, details);
  }
}

/** 300: a failure status whose body says nothing that the client knows. */
export class HttpResponseError extends ResponseError {
  static override readonly className: string = "HttpResponseError";
  readonly status: number;
  /** What the answer says, cut to 1000 characters. */
  readonly reason: string;
  constructor(status: number, reason: string, details?: ErrorDetails) {
    super(ErrorCode.HttpResponseError, `the server answered ${String(status)}: ${reason}`, details);
    this.status = status;
    this.reason = reason;
  }
}

/** A frame that breaks the rules of the protocol. The link is closed. */
export class ProtocolFrameError extends IggyError {
  static override readonly className: string = "ProtocolFrameError";
}

/** A reply whose body does not decode. */
export class DeserializeError extends IggyError {
  static override readonly className: string = "DeserializeError";
}

/** The server ended the connection and said why. */
export class EvictionError extends IggyError {
  static override readonly className: string = "EvictionError";
  /** Name of the reason, such as `NoSession`. */
  readonly reason: string;
  constructor(code: number, reason: string, message: string, details?: ErrorDetails) {
    super(code, message, details);
    this.reason = reason;
  }
}

/** The name that earlier clients gave an eviction. */
export const VsrEvictionError = EvictionError;
export type VsrEvictionError = EvictionError;

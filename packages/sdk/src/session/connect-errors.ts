import { ErrorCode } from "@iggy/protocol";
import { ScopeEnded } from "../calls/scope.js";
import { DisconnectedError, errorOf, IggyError } from "../errors/index.js";

/** A refusal that ends the run over the endpoints: every node gives the same answer. */
export class FinalRefusal extends Error {
  readonly refusal: IggyError;
  constructor(refusal: IggyError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw asIggyError(signal.reason);
}

export function asIggyError(error: unknown): IggyError {
  if (error instanceof FinalRefusal) return error.refusal;
  if (error instanceof IggyError) return error;
  if (error instanceof ScopeEnded) return new DisconnectedError("the connection attempt ended");
  return errorOf(ErrorCode.CannotEstablishConnection, error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

const configurationFaults: ReadonlySet<number> = new Set([
  ErrorCode.FeatureUnavailable,
  ErrorCode.InvalidTlsDomain,
  ErrorCode.InvalidTlsCertificatePath,
  ErrorCode.InvalidTlsCertificate,
]);

export const isConfigurationFault = (error: IggyError): boolean => configurationFaults.has(error.code);

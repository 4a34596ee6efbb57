import { ErrorCode, type BindSessionRequest } from "@iggy/protocol";
import type { MetadataCommands } from "../dispatch/command-table.js";
import type { MetadataView } from "../metadata/metadata-view.js";
import type { OperationRequest } from "../metadata/operation-request.js";
import type { SessionBinding } from "../net/connection.js";
import type { ClientRequest } from "../request.js";
import type { SignIn } from "../sessions/login-desk.js";
import type { SessionAuthority } from "../sessions/session-service.js";
import type { Mesh } from "./lanes/mesh.js";
import type { RecordReader } from "./lanes/record.js";
import { type Importer, REFERENCE_BYTES_MAX } from "./lanes/transfer.js";
import { MainKind } from "./messages/kinds.js";
import { AnswerKind, METADATA_BYTES_MAX, writeOperation, writeSignIn } from "./messages/metadata.js";
import { readCommitted } from "./messages/reply.js";
import { Pending } from "./pending.js";

/** The shard that orders the operations of metadata. */
export const METADATA_SHARD = 0;

type Waiting =
  | { readonly kind: "operation"; readonly request: OperationRequest }
  | { readonly kind: "sign-in"; readonly done: (outcome: SignIn) => void };

const busy: SignIn = { kind: "code", code: ErrorCode.TransientNotAccepted };

/**
 * Metadata as a shard has it that does not order it: reads come from its own view, operations and logins go to shard 0. An
 * answer comes behind the commit that it reports, so whoever gets it finds the change in the view.
 */
export class RemoteMetadata implements MetadataCommands, SessionAuthority {
  private readonly mesh: Mesh;
  private readonly view: MetadataView;
  private readonly pending: Pending<Waiting>;

  constructor(mesh: Mesh, view: MetadataView, pendingMax: number) {
    this.mesh = mesh;
    this.view = view;
    this.pending = new Pending(pendingMax);
  }

  get appliedOp(): number {
    return this.view.appliedOp;
  }

  whenApplied(op: number): true | Promise<boolean> {
    return this.view.whenApplied(op);
  }

  sessionToBind(request: BindSessionRequest): SessionBinding | number {
    return this.view.sessionToBind(request);
  }

  read(request: ClientRequest, code: number): boolean {
    return this.view.read(request, code);
  }

  submit(request: OperationRequest): void {
    this.forward(MainKind.operation, request);
  }

  logout(request: OperationRequest): void {
    this.forward(MainKind.logout, request);
  }

  signIn(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn> {
    const outbox = this.mesh.main(METADATA_SHARD);
    const record = this.pending.isFull ? undefined : outbox.offer(METADATA_BYTES_MAX + REFERENCE_BYTES_MAX);
    if (record === undefined) return Promise.resolve(busy);
    return new Promise((done) => {
      const token = this.pending.add({ kind: "sign-in", done });
      record.u8(MainKind.signIn);
      writeSignIn(record, { token, client, requestChecksum });
      outbox.body(record, [body]);
      outbox.commit();
    });
  }

  /** Takes the rest of a `metadataAnswer`. */
  answer(record: RecordReader, importer: Importer): void {
    const waiting = this.pending.take(record.u32());
    const kind = record.u8();
    switch (waiting.kind) {
      case "operation":
        this.answerOperation(waiting.request, kind, record, importer);
        return;
      case "sign-in":
        waiting.done(readSignInOutcome(kind, record, importer));
    }
  }

  private answerOperation(request: OperationRequest, kind: number, record: RecordReader, importer: Importer): void {
    if (kind === AnswerKind.deny) request.deny(record.u32());
    else if (kind === AnswerKind.evict) request.evict(record.u32());
    else {
      const facts = readCommitted(record);
      request.committed({ ...facts, body: importer.receive(record).pieces });
    }
  }

  private forward(kind: number, request: OperationRequest): void {
    const outbox = this.mesh.main(METADATA_SHARD);
    const record = this.pending.isFull ? undefined : outbox.offer(METADATA_BYTES_MAX + REFERENCE_BYTES_MAX);
    if (record === undefined) {
      request.deny(ErrorCode.TransientNotAccepted);
      return;
    }
    const token = this.pending.add({ kind: "operation", request });
    const { client, session, userId, requestChecksum, operation, partitionIncarnation } = request;
    record.u8(kind);
    writeOperation(record, {
      token,
      client,
      session,
      userId,
      request: request.request,
      requestChecksum,
      operation,
      partitionIncarnation,
    });
    outbox.body(record, [request.body]);
    outbox.commit();
  }
}

function readSignInOutcome(kind: number, record: RecordReader, importer: Importer): SignIn {
  if (kind === AnswerKind.code) return { kind: "code", code: record.u32() };
  if (kind === AnswerKind.evict) return { kind: "evict", reason: record.u32(), isRefusal: record.flag() };
  const session = record.f64();
  const userId = record.u32();
  return {
    kind: "session",
    session,
    userId,
    payload: importer.receive(record).pieces[0] ?? new Uint8Array(0),
  };
}

import type { BindSessionRequest } from "@iggy/protocol";
import type { MetadataCommands } from "../dispatch/command-table.js";
import type { SessionBinding } from "../net/connection.js";
import type { ClientRequest } from "../request.js";
import { LoginDesk, type SignIn } from "../sessions/login-desk.js";
import type { SessionAuthority } from "../sessions/session-service.js";
import type { MetadataPlane } from "./metadata-plane.js";
import type { OperationRequest } from "./operation-request.js";

/** Metadata as the connections of the shard have it that orders its operations. */
export class LocalMetadata implements MetadataCommands, SessionAuthority {
  private readonly plane: MetadataPlane;
  /** Verifies logins of this node. */
  readonly desk: LoginDesk;

  constructor(plane: MetadataPlane) {
    this.plane = plane;
    this.desk = new LoginDesk(plane);
  }

  get appliedOp(): number {
    return this.plane.view.appliedOp;
  }

  whenApplied(op: number): true | Promise<boolean> {
    return this.plane.view.whenApplied(op);
  }

  submit(request: OperationRequest): void {
    this.plane.submit(request);
  }

  read(request: ClientRequest, code: number): boolean {
    return this.plane.view.read(request, code);
  }

  signIn(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn> {
    return this.desk.signIn(client, requestChecksum, body);
  }

  logout(request: OperationRequest): void {
    this.plane.logout(request);
  }

  sessionToBind(request: BindSessionRequest): SessionBinding | number {
    return this.plane.view.sessionToBind(request);
  }
}

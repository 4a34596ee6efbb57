export { MEMBERS_MAX, type Quorums, quorumsOf } from "./quorums.js";
export {
  type Admission,
  type GroupIdentity,
  type Prepare,
  type PreparePlace,
  type PrepareSealer,
  type Proposal,
  type RecoveredGroup,
  Replica,
} from "./replica.js";

export { MEMBERS_MAX, type Quorums, quorumsOf } from "./quorums.js";
export {
  type Admission,
  type GroupIdentity,
  type Prepare,
  type PrepareSealer,
  type Proposal,
  type RecoveredGroup,
  Replica,
  type SealFields,
} from "./replica.js";

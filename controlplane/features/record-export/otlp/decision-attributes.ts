import type { Attribute } from './attribute.ts'

/** Attributes that describe the decision and its reasons. */
export const DECISION: readonly Attribute[] = [
  {
    name: 'chaperone.decision',
    meaning: '`ALLOW`, `HOLD` or `DENY`',
    value: ({ decision }) => decision,
  },
  {
    name: 'chaperone.decision.would',
    meaning: 'decision that full enforcement would make, if it differs',
    value: ({ would }) => would,
  },
  {
    name: 'chaperone.reason',
    meaning: 'why the request was refused: a code, or a short sentence',
    value: ({ reason }) => reason,
  },
  {
    name: 'chaperone.note',
    meaning: 'remark, such as `approved` or `unknown`',
    value: ({ note }) => note,
  },
  {
    name: 'chaperone.approval.id',
    meaning: 'approval of a held request',
    value: ({ approval_id }) => approval_id,
  },
  {
    name: 'chaperone.action.id',
    meaning: 'id of the action in its audit events',
    value: ({ act_id }) => act_id,
  },
  {
    name: 'chaperone.permission',
    meaning: 'permission that matched',
    value: ({ permission }) => permission,
  },
  { name: 'chaperone.policies', meaning: 'policies that matched', value: ({ policies }) => policies },
  {
    name: 'chaperone.snapshot.version',
    meaning: 'version of the configuration',
    value: ({ snapshot_version }) => snapshot_version,
  },
  {
    name: 'chaperone.why.source',
    meaning: 'source of a decision other than a plain allow, such as `policy`',
    value: ({ why }) => why?.source,
  },
  {
    name: 'chaperone.why.reason',
    meaning: 'reason of the decision as a sentence',
    value: ({ why }) => why?.reason,
  },
  {
    name: 'chaperone.why.pattern',
    meaning: 'pattern of the permission that decided',
    value: ({ why }) => why?.pattern,
  },
  {
    name: 'chaperone.why.rules',
    meaning: 'rules that matched, as `policy: rule`',
    value: ({ why }) => why?.rules.map(({ policy, rule }) => `${policy}: ${rule}`),
  },
  {
    name: 'chaperone.why.risk_score',
    meaning: 'risk from 0 to 1 (double)',
    value: ({ why }) => why?.risk_score,
    isDouble: true,
  },
  {
    name: 'chaperone.why.risk_factors',
    meaning: 'factors of the risk',
    value: ({ why }) => why?.risk_factors,
  },
  {
    name: 'chaperone.why.approver_groups',
    meaning: 'groups that may answer',
    value: ({ why }) => why?.approver_groups,
  },
]

/** Attributes that describe the credential with which the request was sent. */
export const CREDENTIAL: readonly Attribute[] = [
  {
    name: 'chaperone.credential.id',
    meaning: 'credential with which the request was sent; never the secret',
    value: ({ credential }) => credential?.id,
  },
  {
    name: 'chaperone.credential.source',
    meaning: 'source of the credential, such as `vault` or `githubApp`',
    value: ({ credential }) => credential?.source,
  },
  {
    name: 'chaperone.credential.scope',
    meaning: 'scope of the token',
    value: ({ credential }) => credential?.scope,
  },
  {
    name: 'chaperone.credential.not_narrowed',
    meaning: 'reason why the token was not narrowed',
    value: ({ credential }) => credential?.not_narrowed,
  },
  {
    name: 'chaperone.credential.expires_at',
    meaning: 'expiry of a short-lived credential',
    value: ({ credential }) => credential?.expires_at,
  },
]

/** Attributes that only an aggregate record has. An aggregate record stands for many refusals. */
export const REFUSALS: readonly Attribute[] = [
  {
    name: 'chaperone.refusals.count',
    meaning: 'number of refused requests that an aggregate record stands for',
    value: ({ refusals }) => refusals?.count,
  },
  {
    name: 'chaperone.refusals.first',
    meaning: 'time of the first of these requests',
    value: ({ refusals }) => refusals?.first,
  },
  {
    name: 'chaperone.refusals.last',
    meaning: 'time of the last of these requests',
    value: ({ refusals }) => refusals?.last,
  },
  {
    name: 'chaperone.refusals.distinct_targets',
    meaning: 'number of distinct targets of these requests',
    value: ({ refusals }) => refusals?.distinct_targets,
  },
  {
    name: 'chaperone.refusals.more_targets',
    meaning: 'whether these requests had more targets than the gateway counts',
    value: ({ refusals }) => refusals?.more_targets,
  },
  {
    name: 'chaperone.refusals.targets',
    meaning: 'the first targets',
    value: ({ refusals }) => refusals?.targets,
  },
  {
    name: 'chaperone.refusals.reasons',
    meaning: 'map of reasons to numbers of requests',
    value: ({ refusals }) => refusals?.reasons,
  },
  {
    name: 'chaperone.refusals.actions',
    meaning: 'map of actions to numbers of requests',
    value: ({ refusals }) => refusals?.actions,
  },
]

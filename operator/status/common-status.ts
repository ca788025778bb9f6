import type { ConditionReason } from '../../core/crd/conditions.ts'
import { IN_FORCE_TEXT, type PushReply } from '../../core/wire/operator/operator.ts'
import { type Verdict, verdict } from './conditions.ts'
import type { StatusFacts } from './status-facts.ts'

const PENDING = 'the operator has not sent the object to the control plane yet'

/**
 * Returns the status conditions that all kinds have in common. The conditions describe the object, not the gateways
 * that apply it.
 */
export function commonVerdicts(facts: StatusFacts): readonly Verdict[] {
  const accepted = acceptedOf(facts)
  const resolved = resolvedOf(facts)
  const programmed = programmedOf(facts)
  const ready = readyOf([accepted, resolved, programmed])
  return [accepted, resolved, programmed, ready, degradedOf(facts), staleVerdict(facts)]
}

function acceptedOf({ reply, failure }: StatusFacts): Verdict {
  if (reply === null) return verdict('Accepted', 'Unknown', ['Pending', failure ?? PENDING])
  if (reply.accepted) return verdict('Accepted', 'True', ['Accepted', 'the object is in force as written'])
  const text = `${reply.reasons.join('; ')}; ${IN_FORCE_TEXT[reply.in_force]}`
  return verdict('Accepted', 'False', [ACCEPTED[reply.problem ?? 'Invalid'], text])
}

const ACCEPTED: Readonly<Record<NonNullable<PushReply['problem']>, ConditionReason<'Accepted'>>> = {
  GatewayNotFound: 'RefsNotResolved',
  NamespaceNotAllowed: 'RefsNotResolved',
  Invalid: 'Invalid',
  Conflict: 'Conflict',
  TestsFailed: 'TestsFailed',
}

function resolvedOf({ reply, credential, failure }: StatusFacts): Verdict {
  const problem = reply?.problem
  if (problem === 'GatewayNotFound' || problem === 'NamespaceNotAllowed')
    return verdict('ResolvedRefs', 'False', [problem, reply?.reasons.join('; ') ?? ''])
  if (credential !== null && credential.problem !== null)
    return verdict('ResolvedRefs', 'False', [credential.problem.reason, credential.problem.message])
  if (reply === null) return verdict('ResolvedRefs', 'Unknown', ['Pending', failure ?? PENDING])
  return verdict('ResolvedRefs', 'True', ['ResolvedRefs', 'all references are resolved'])
}

/**
 * Returns the `Programmed` condition. An accepted object is part of a stored version of the configuration, and every
 * replica of the control plane publishes a stored version at once.
 */
function programmedOf({ reply }: StatusFacts): Verdict {
  if (reply === null) return verdict('Programmed', 'Unknown', ['Pending', PENDING])
  return reply.accepted
    ? verdict('Programmed', 'True', ['Programmed', 'the object is published to the gateways'])
    : verdict('Programmed', 'False', ['NotAccepted', IN_FORCE_TEXT[reply.in_force]])
}

function readyOf([accepted, resolved, programmed]: readonly [Verdict, Verdict, Verdict]): Verdict {
  const all: readonly Verdict[] = [resolved, accepted, programmed]
  const unmet = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown')
  if (unmet === undefined) return verdict('Ready', 'True', ['Ready', programmed.message])
  if (unmet.status === 'Unknown') return verdict('Ready', 'Unknown', ['Pending', unmet.message])
  const reason = unmet.type === 'ResolvedRefs' ? 'RefsNotResolved' : 'NotAccepted'
  return verdict('Ready', 'False', [reason, unmet.message])
}

/**
 * Returns the `Degraded` condition with the warnings of the reply. All warnings are omitted while the credential has a
 * problem, which `ResolvedRefs` contains.
 */
function degradedOf({ reply, credential }: StatusFacts): Verdict {
  const hasOwnWarnings = reply !== null && reply.warnings.length > 0 && credential?.problem == null
  return hasOwnWarnings
    ? verdict('Degraded', 'True', ['Warnings', reply.warnings.join('; ')])
    : verdict('Degraded', 'False', ['AsExpected', 'no limitation is known'])
}

/**
 * Returns the `Stale` condition. The text of the condition contains no duration, because every change of a text is a
 * write of the status.
 */
export function staleVerdict({ isStale }: Pick<StatusFacts, 'isStale'>): Verdict {
  if (!isStale) return verdict('Stale', 'False', ['ControlPlaneReachable', 'the control plane responds'])
  const text = 'the control plane does not respond; gateways keep their configuration'
  return verdict('Stale', 'True', ['ControlPlaneUnreachable', text])
}

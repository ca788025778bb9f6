import type { ConditionReason } from '../../core/crd/conditions.ts'
import { acknowledgedBy, IN_FORCE_TEXT, type PushReply } from '../../core/wire/operator.ts'
import { type Verdict, verdict } from './conditions.ts'
import { STALE_AFTER_MS, type StatusFacts } from './status-facts.ts'

const PENDING = 'the control plane was not told yet'

export type CommonStatus = {
  readonly verdicts: readonly Verdict[]
  /** `n of m`. */
  readonly programmed: string | null
}

/** What the status of every kind says. */
export function commonStatus(facts: StatusFacts): CommonStatus {
  const accepted = acceptedOf(facts)
  const resolved = resolvedOf(facts)
  const { programmed, text } = programmedOf(facts)
  const ready = readyOf([accepted, resolved, programmed])
  return {
    verdicts: [accepted, resolved, programmed, ready, ...degradedOf(facts), ...staleVerdicts(facts)],
    programmed: text,
  }
}

function acceptedOf({ reply, failure }: StatusFacts): Verdict {
  if (reply === null) return verdict('Accepted', 'Unknown', ['Pending', failure ?? PENDING])
  if (reply.accepted) return verdict('Accepted', 'True', ['Accepted', 'in force as written'])
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
  const wrong = reply?.problem
  if (wrong === 'GatewayNotFound' || wrong === 'NamespaceNotAllowed')
    return verdict('ResolvedRefs', 'False', [wrong, reply?.reasons.join('; ') ?? ''])
  if (credential !== null && credential.problem !== null)
    return verdict('ResolvedRefs', 'False', [credential.problem.reason, credential.problem.message])
  if (reply === null) return verdict('ResolvedRefs', 'Unknown', ['Pending', failure ?? PENDING])
  return verdict('ResolvedRefs', 'True', ['ResolvedRefs', 'all references are resolved'])
}

type Programmed = { readonly programmed: Verdict; readonly text: string | null }

function programmedOf({ reply, state }: StatusFacts): Programmed {
  const say = (
    status: Verdict['status'],
    reason: readonly [ConditionReason<'Programmed'>, string],
    text: string | null = null,
  ): Programmed => ({ programmed: verdict('Programmed', status, reason), text })
  if (reply === null) return say('Unknown', ['Pending', PENDING])
  if (!reply.accepted) return say('False', ['NotAccepted', IN_FORCE_TEXT[reply.in_force]])
  if (state === null) return say('Unknown', ['Pending', 'no gateway was asked yet'])
  const { acked, total } = acknowledgedBy(state.processes, reply)
  const text = `${acked} of ${total}`
  if (total === 0)
    return say(
      'True',
      ['NoGateways', 'no gateway process is connected; in force from the first one on'],
      text,
    )
  if (acked === total) return say('True', ['Programmed', `acknowledged by ${text} gateway processes`], text)
  const rejected = state.processes.find((one) => isFor(reply, one.gateway) && one.rejected !== null)
  return rejected === undefined
    ? say('False', ['Pending', `acknowledged by ${text} gateway processes`], text)
    : say('False', ['Rejected', `${rejected.process_id} refuses it: ${rejected.rejected}`], text)
}

function readyOf([accepted, resolved, programmed]: readonly [Verdict, Verdict, Verdict]): Verdict {
  const all: readonly Verdict[] = [resolved, accepted, programmed]
  const wrong = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown')
  if (wrong === undefined) return verdict('Ready', 'True', ['Ready', programmed.message])
  if (wrong.status === 'Unknown') return verdict('Ready', 'Unknown', ['Pending', wrong.message])
  return verdict('Ready', 'False', [NOT_READY[wrong.type] ?? 'NotProgrammed', wrong.message])
}

const NOT_READY: Readonly<Partial<Record<Verdict['type'], ConditionReason<'Ready'>>>> = {
  Accepted: 'NotAccepted',
  ResolvedRefs: 'RefsNotResolved',
  Programmed: 'NotProgrammed',
}

/** Warnings about the credential are what `ResolvedRefs` says already. */
function degradedOf({ reply, credential, state }: StatusFacts): readonly Verdict[] {
  const rejecting = state?.processes.filter(
    ({ gateway, rejected }) => rejected !== null && isFor(reply, gateway),
  )
  if (reply !== null && rejecting !== undefined && rejecting.length > 0) {
    const [first] = rejecting
    const text = `${rejecting.length} gateway processes keep an older state: ${first?.rejected ?? ''}`
    return [verdict('Degraded', 'True', ['GatewayRejected', text])]
  }
  const hasOwnWarnings = reply !== null && reply.warnings.length > 0 && credential?.problem == null
  return hasOwnWarnings ? [verdict('Degraded', 'True', ['Warnings', reply.warnings.join('; ')])] : []
}

/** Says nothing that changes by itself, such as for how long: a status would be written for ever. */
export function staleVerdicts({ staleMs }: StatusFacts): readonly Verdict[] {
  if (staleMs < STALE_AFTER_MS) return []
  const text = 'the control plane does not answer; gateways go on with what they have'
  return [verdict('Stale', 'True', ['ControlPlaneUnreachable', text])]
}

function isFor(reply: PushReply | null, gateway: string): boolean {
  return reply !== null && (reply.gateways === null || reply.gateways.includes(gateway))
}

import type { ConditionReason } from '../../core/crd/conditions.ts'
import { acknowledgedBy, IN_FORCE_TEXT, type PushReply } from '../../core/wire/operator/operator.ts'
import { type Verdict, verdict } from './conditions.ts'
import { STALE_AFTER_MS, type StatusFacts } from './status-facts.ts'

const PENDING = 'not pushed to the control plane yet'

export type CommonStatus = {
  readonly verdicts: readonly Verdict[]
  /** `n of m` gateway processes that applied the object; null when the number is not known. */
  readonly programmed: string | null
}

/** Returns the part of the status that all kinds have in common. */
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
  const problem = reply?.problem
  if (problem === 'GatewayNotFound' || problem === 'NamespaceNotAllowed')
    return verdict('ResolvedRefs', 'False', [problem, reply?.reasons.join('; ') ?? ''])
  if (credential !== null && credential.problem !== null)
    return verdict('ResolvedRefs', 'False', [credential.problem.reason, credential.problem.message])
  if (reply === null) return verdict('ResolvedRefs', 'Unknown', ['Pending', failure ?? PENDING])
  return verdict('ResolvedRefs', 'True', ['ResolvedRefs', 'all references are resolved'])
}

type Programmed = { readonly programmed: Verdict; readonly text: string | null }

function programmedOf({ reply, state }: StatusFacts): Programmed {
  const result = (
    status: Verdict['status'],
    reason: readonly [ConditionReason<'Programmed'>, string],
    text: string | null = null,
  ): Programmed => ({ programmed: verdict('Programmed', status, reason), text })
  if (reply === null) return result('Unknown', ['Pending', PENDING])
  if (!reply.accepted) return result('False', ['NotAccepted', IN_FORCE_TEXT[reply.in_force]])
  if (state === null) return result('Unknown', ['Pending', 'acknowledgements of gateways not read yet'])
  const { acked, total } = acknowledgedBy(state.processes, reply)
  const text = `${acked} of ${total}`
  if (total === 0)
    return result(
      'True',
      ['NoGateways', 'no gateway process is connected; it takes effect when the first one connects'],
      text,
    )
  if (acked === total)
    return result('True', ['Programmed', `acknowledged by ${text} gateway processes`], text)
  const rejected = state.processes.find((one) => isFor(reply, one.gateway) && one.rejected !== null)
  return rejected === undefined
    ? result('False', ['Pending', `acknowledged by ${text} gateway processes`], text)
    : result(
        'False',
        ['Rejected', `gateway process ${rejected.process_id} rejects it: ${rejected.rejected}`],
        text,
      )
}

function readyOf([accepted, resolved, programmed]: readonly [Verdict, Verdict, Verdict]): Verdict {
  const all: readonly Verdict[] = [resolved, accepted, programmed]
  const unmet = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown')
  if (unmet === undefined) return verdict('Ready', 'True', ['Ready', programmed.message])
  if (unmet.status === 'Unknown') return verdict('Ready', 'Unknown', ['Pending', unmet.message])
  return verdict('Ready', 'False', [NOT_READY[unmet.type] ?? 'NotProgrammed', unmet.message])
}

const NOT_READY: Readonly<Partial<Record<Verdict['type'], ConditionReason<'Ready'>>>> = {
  Accepted: 'NotAccepted',
  ResolvedRefs: 'RefsNotResolved',
  Programmed: 'NotProgrammed',
}

/** Returns the `Degraded` condition. It omits warnings about the credential, which `ResolvedRefs` contains. */
function degradedOf({ reply, credential, state }: StatusFacts): readonly Verdict[] {
  const rejecting = state?.processes.filter(
    ({ gateway, rejected }) => rejected !== null && isFor(reply, gateway),
  )
  if (reply !== null && rejecting !== undefined && rejecting.length > 0) {
    const [first] = rejecting
    const text = `${rejecting.length} gateway processes rejected it and keep an older configuration: ${first?.rejected ?? ''}`
    return [verdict('Degraded', 'True', ['GatewayRejected', text])]
  }
  const hasOwnWarnings = reply !== null && reply.warnings.length > 0 && credential?.problem == null
  return hasOwnWarnings ? [verdict('Degraded', 'True', ['Warnings', reply.warnings.join('; ')])] : []
}

/**
 * Returns the `Stale` condition. Its text contains no duration, because every change of a text is a write of the
 * status.
 */
export function staleVerdicts({ staleMs }: StatusFacts): readonly Verdict[] {
  if (staleMs < STALE_AFTER_MS) return []
  const text = 'the control plane does not answer; gateways keep their configuration'
  return [verdict('Stale', 'True', ['ControlPlaneUnreachable', text])]
}

function isFor(reply: PushReply | null, gateway: string): boolean {
  return reply !== null && (reply.gateways === null || reply.gateways.includes(gateway))
}

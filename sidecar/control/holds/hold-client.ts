import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { type HoldBody, HoldReply, SpendReply } from '../../../core/wire/gateway/hold.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { type ControlClient, type ControlReply, jsonOf } from '../client/client.ts'

export type HoldClient = {
  /**
   * Creates an approval, joins a pending one, or finds a granted one. Rejects with `too_many_holds` over the limit of
   * the agent, with `kill_switch` while a kill switch covers the request, and with `not_ready` when the control plane
   * is unreachable or refuses.
   */
  ask(hold: HoldBody): Promise<HoldReply>
  /**
   * Spends a granted approval. Returns the state of the approval, spent or not; `unknown` when the control plane has no
   * such approval; null without a valid reply.
   */
  spend(approvalId: string, binding: string): Promise<SpendReply | 'unknown' | null>
  /** Reads the state of an approval without spending it. Returns the same values as `spend`. */
  read(approvalId: string): Promise<SpendReply | 'unknown' | null>
  /**
   * Reports that no held request of the group with the id `asker` waits for the approval any more. Returns false when
   * the call must be repeated: without a reply, and for a 5xx status. A 4xx status counts as reported, because control
   * planes of earlier versions lack this call.
   */
  leave(approvalId: string, left: { readonly binding: string; readonly asker: string }): Promise<boolean>
}

/**
 * Binding (hash of what an approval covers) that no request has. A call to spend with this binding spends nothing and
 * returns the state of the approval.
 */
const NO_BINDING = ''

export function createHoldClient(client: ControlClient): HoldClient {
  async function spend(approvalId: string, binding: string): ReturnType<HoldClient['spend']> {
    const path = `${SYNC_PATHS.holds}/${encodeURIComponent(approvalId)}/spend`
    // A failed call counts as a missing reply: the hold keeps waiting and calls again.
    const reply = await client.post(path, { binding }).catch((): ControlReply | null => null)
    if (reply === null) return null
    if (reply.status === 404) return 'unknown'
    const parsed = SpendReply.safeParse(jsonOf(reply))
    return parsed.success ? parsed.data : null
  }

  return {
    async ask(hold) {
      const reply = await client.post(SYNC_PATHS.holds, hold).catch(unreachable)
      if (reply.status === 429) throw tooMany(hold.agent, jsonOf(reply))
      const killed = KillSwitchReply.safeParse(jsonOf(reply))
      if (reply.status === 403 && killed.success) throw killedBy(killed.data)
      const parsed = HoldReply.safeParse(jsonOf(reply))
      if (reply.status >= 200 && reply.status < 300 && parsed.success) return parsed.data
      throw refused(reply)
    },
    spend,
    read: (approvalId) => spend(approvalId, NO_BINDING),
    async leave(approvalId, left) {
      const path = `${SYNC_PATHS.holds}/${encodeURIComponent(approvalId)}/leave`
      const reply = await client.post(path, left).catch((): ControlReply | null => null)
      return reply !== null && reply.status < 500
    },
  }
}

function unreachable(cause: unknown): never {
  throw new ChaperoneError('not_ready', {
    detail: 'This request needs an approval, but the control plane is unreachable. Try again shortly.',
    retryAfterS: 5,
    cause,
  })
}

const MAX_MESSAGE_CHARS = 500

/**
 * Returns the error for a refused call. For a 4xx status the error suggests no retry, because such a status does not
 * change by itself.
 */
function refused(reply: ControlReply): ChaperoneError {
  const { status } = reply
  const isForGood = status >= 400 && status < 500
  const advice = isForGood ? 'Contact the operator of the gateway.' : 'Try again shortly.'
  return new ChaperoneError('not_ready', {
    detail: `This request needs an approval, but the control plane answered ${status}: ${messageOf(reply)}. ${advice}`,
    ...(isForGood ? {} : { retryAfterS: 5 }),
    cause: new Error(`the control plane answered ${status}`),
  })
}

/** Reply of the control plane when it has stored a kill switch that has not reached this gateway yet. */
const KillSwitchReply = z.object({ error: z.string().max(MAX_MESSAGE_CHARS), scope: z.string().max(300) })

function killedBy({ error, scope }: z.infer<typeof KillSwitchReply>): ChaperoneError {
  return new ChaperoneError('kill_switch', {
    error,
    detail: error,
    extra: { decision: 'deny', reason: error, scope },
  })
}

const ErrorReply = z.object({ error: z.string(), message: z.string().optional() })

function messageOf(reply: ControlReply): string {
  const parsed = ErrorReply.safeParse(jsonOf(reply))
  if (!parsed.success) return 'nothing more'
  const { error, message } = parsed.data
  const text = message === undefined || message === error ? error : `${error}, ${message}`
  return text.slice(0, MAX_MESSAGE_CHARS).replace(/\.$/, '')
}

function tooMany(agent: string, body: unknown): ChaperoneError {
  const given =
    typeof body === 'object' && body !== null && 'retry_after' in body ? Number(body.retry_after) : 5
  return new ChaperoneError('too_many_holds', {
    detail: `Agent ${agent} has too many pending approvals. Answer or cancel some of them first.`,
    retryAfterS: Number.isFinite(given) ? Math.max(1, Math.ceil(given)) : 5,
  })
}

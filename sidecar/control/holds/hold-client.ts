import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { type HoldBody, HoldReply, SpendReply } from '../../../core/wire/gateway/hold.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { type ControlClient, type ControlReply, jsonOf } from '../client/client.ts'

export type HoldClient = {
  /**
   * Creates, joins, or finds an approval that waits to be used. Rejects with `too_many_holds` when the agent has too
   * many, with `kill_switch` under a stop, with `not_ready` when the control plane is not there or does not open it.
   */
  ask(hold: HoldBody): Promise<HoldReply>
  /**
   * Uses an approval up, if a person has said yes; in any case says how it stands. `unknown`: the control plane has no
   * such approval. Null when nobody answers.
   */
  spend(approvalId: string, binding: string): Promise<SpendReply | 'unknown' | null>
  /** Reports that nobody waits as `asker` any more. False when nobody answers; an older control plane has no such call. */
  leave(approvalId: string, left: { readonly binding: string; readonly asker: string }): Promise<boolean>
}

export function createHoldClient(client: ControlClient): HoldClient {
  return {
    async ask(hold) {
      const reply = await client.post(SYNC_PATHS.holds, hold).catch(unreachable)
      if (reply.status === 429) throw tooMany(hold.agent, jsonOf(reply))
      const stop = StopReply.safeParse(jsonOf(reply))
      if (reply.status === 403 && stop.success) throw stopped(stop.data)
      const parsed = HoldReply.safeParse(jsonOf(reply))
      if (reply.status >= 200 && reply.status < 300 && parsed.success) return parsed.data
      throw refused(reply)
    },
    async spend(approvalId, binding) {
      const path = `${SYNC_PATHS.holds}/${encodeURIComponent(approvalId)}/spend`
      // What went wrong does not matter: the hold goes on waiting and asks again.
      const reply = await client.post(path, { binding }).catch((): ControlReply | null => null)
      if (reply === null) return null
      if (reply.status === 404) return 'unknown'
      const parsed = SpendReply.safeParse(jsonOf(reply))
      return parsed.success ? parsed.data : null
    },
    async leave(approvalId, left) {
      const path = `${SYNC_PATHS.holds}/${encodeURIComponent(approvalId)}/leave`
      const reply = await client.post(path, left).catch((): ControlReply | null => null)
      return reply !== null && reply.status < 500
    },
  }
}

function unreachable(cause: unknown): never {
  throw new ChaperoneError('not_ready', {
    detail:
      'This request needs a person, and the control plane that would ask one cannot be reached. Try again shortly.',
    retryAfterS: 5,
    cause,
  })
}

const MAX_SAID = 500

/** What it refuses today (4xx) it refuses in five seconds, too: then somebody has to change something. */
function refused(reply: ControlReply): ChaperoneError {
  const { status } = reply
  const isForGood = status >= 400 && status < 500
  const advice = isForGood ? 'Tell whoever runs the gateway.' : 'Try again shortly.'
  return new ChaperoneError('not_ready', {
    detail: `This request needs a person, and the control plane that would ask one answered ${status}: ${saidIn(reply)}. ${advice}`,
    ...(isForGood ? {} : { retryAfterS: 5 }),
    cause: new Error(`the control plane answered ${status}`),
  })
}

/** The control plane has stored a stop that has not arrived here yet. */
const StopReply = z.object({ error: z.string().max(MAX_SAID), scope: z.string().max(300) })

function stopped({ error, scope }: z.infer<typeof StopReply>): ChaperoneError {
  return new ChaperoneError('kill_switch', {
    error,
    detail: error,
    extra: { decision: 'deny', reason: error, scope },
  })
}

const ErrorReply = z.object({ error: z.string(), message: z.string().optional() })

function saidIn(reply: ControlReply): string {
  const parsed = ErrorReply.safeParse(jsonOf(reply))
  if (!parsed.success) return 'nothing more'
  const { error, message } = parsed.data
  const said = message === undefined || message === error ? error : `${error}, ${message}`
  return said.slice(0, MAX_SAID).replace(/\.$/, '')
}

function tooMany(agent: string, body: unknown): ChaperoneError {
  const given =
    typeof body === 'object' && body !== null && 'retry_after' in body ? Number(body.retry_after) : 5
  return new ChaperoneError('too_many_holds', {
    detail: `Agent ${agent} has too many requests waiting for a person. Answer or cancel some of them first.`,
    retryAfterS: Number.isFinite(given) ? Math.max(1, Math.ceil(given)) : 5,
  })
}

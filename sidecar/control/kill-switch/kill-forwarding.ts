import * as z from 'zod'
import type { CommandReply } from '../../../core/wire/commands.ts'
import { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createRetryLoop } from '../client/retry-loop.ts'
import type { Commands } from '../commands.ts'
import type { KillState, LocalKillSwitch } from './kill-state.ts'

/** Passes the stops that are set on this gateway to the control plane, each until it is stored there. */
export type KillForwarding = {
  /** Forwards the stop that was set for this scope; after a lift of the scope that has no answer yet. */
  activate(scope: string): Promise<CommandReply>
  /** Lifts what this gateway had set for the scope when it was called. */
  lift(scope: string, reason: string): Promise<CommandReply>
  /** There is a control plane again. */
  wake(): void
  close(): void
}

export type KillForwardingDeps = {
  readonly kill: KillState
  readonly commands: Commands
  readonly random: () => number
  readonly nowMs: () => number
}

export function createKillForwarding({ kill, commands, random, nowMs }: KillForwardingDeps): KillForwarding {
  /** Scope -> its lift, as long as that has no answer. */
  const lifts = new Map<string, Promise<unknown>>()
  const unforwarded = (scope: string) => kill.unforwarded().find((stop) => stop.entry.scope === scope)

  /** `isRetry`: the control plane may have it already, and it may have been lifted there. */
  async function send({ id, entry }: LocalKillSwitch, isRetry: boolean): Promise<CommandReply> {
    const { scope, reason, since } = entry
    const ageMs = Math.max(0, Math.round(nowMs() - Date.parse(since)))
    const stop = isRetry ? { id, retried_after_ms: ageMs } : { id }
    const reply = await commands({ command: 'kill-switch', input: { active: true, scope, reason }, stop })
    if (reply.status === 200 && isStored(reply)) kill.setForwarded(id, orderOf(reply))
    return reply
  }

  const repeater = createRetryLoop({
    random,
    isPending: () => kill.unforwarded().length > 0,
    attempt: async () => {
      await Promise.all(kill.unforwarded().map((stop) => send(stop, true)))
    },
  })

  return {
    async activate(scope) {
      await lifts.get(scope)
      const stop = unforwarded(scope)
      // Another call has lifted it meanwhile.
      if (stop === undefined) return { status: 200, body: {} }
      const reply = await send(stop, false)
      repeater.wakeLater()
      return reply
    },
    async lift(scope, reason) {
      const stop = kill.localKillSwitch(scope)
      const input = { active: false, scope, ...(reason === '' ? {} : { reason }) }
      const lifted = commands({
        ...{ command: 'kill-switch', input },
        ...(stop === undefined ? {} : { stop: { id: stop.id } }),
      })
      lifts.set(scope, lifted)
      try {
        const reply = await lifted
        if (reply.status === 200) kill.clearLifted(scope, stop?.id)
        return reply
      } finally {
        if (lifts.get(scope) === lifted) lifts.delete(scope)
      }
    },
    wake: repeater.wake,
    close: repeater.close,
  }
}

/** False while the control plane has the stop in memory only: it is then forwarded again. */
function isStored({ body }: CommandReply): boolean {
  return body['stored'] !== false
}

/** The first state that has the stop, or its lift; undefined from a control plane of an earlier version. */
function orderOf({ body }: CommandReply): StateOrder | undefined {
  return z.object({ order: StateOrder }).safeParse(body).data?.order
}

import * as z from 'zod'
import type { CommandReply } from '../../../core/wire/gateway/commands.ts'
import { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { createRetryLoop } from '../client/retry-loop.ts'
import type { Commands } from '../commands.ts'
import type { KillState, LocalKillSwitch } from './kill-state.ts'

/**
 * Forwards kill switches that were activated on this gateway to the control plane, each until the control plane has
 * stored it.
 */
export type KillForwarding = {
  /**
   * Forwards the local kill switch of this scope. First waits for a call in flight that lifts the kill switch of the
   * same scope.
   */
  activate(scope: string): Promise<CommandReply>
  /**
   * Lifts the kill switch of the scope in the control plane. If the kill switch was activated on this gateway, the call
   * contains the id of the kill switch.
   */
  lift(scope: string, reason: string): Promise<CommandReply>
  /** Retries immediately. Called after a reconnect. */
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
  /** Calls in flight that lift a kill switch, by scope. */
  const lifts = new Map<string, Promise<unknown>>()
  const unforwarded = (scope: string) => kill.unforwarded().find((local) => local.entry.scope === scope)

  /**
   * Sends a kill switch to the control plane. `isRetry` is true when the control plane may have stored the kill switch
   * already, and a user may have lifted it since.
   */
  async function send({ id, entry }: LocalKillSwitch, isRetry: boolean): Promise<CommandReply> {
    const { scope, reason, since } = entry
    const ageMs = Math.max(0, Math.round(nowMs() - Date.parse(since)))
    const forwarded = isRetry ? { id, retried_after_ms: ageMs } : { id }
    const reply = await commands({
      command: 'kill-switch',
      input: { active: true, scope, reason },
      stop: forwarded,
    })
    if (reply.status === 200 && isStored(reply)) kill.setForwarded(id, orderOf(reply))
    return reply
  }

  const repeater = createRetryLoop({
    random,
    isPending: () => kill.unforwarded().length > 0,
    attempt: async () => {
      await Promise.all(kill.unforwarded().map((local) => send(local, true)))
    },
  })

  return {
    async activate(scope) {
      await lifts.get(scope)
      const local = unforwarded(scope)
      // A concurrent call has lifted the kill switch.
      if (local === undefined) return { status: 200, body: {} }
      const reply = await send(local, false)
      repeater.wakeLater()
      return reply
    },
    async lift(scope, reason) {
      const local = kill.localKillSwitch(scope)
      const input = { active: false, scope, ...(reason === '' ? {} : { reason }) }
      const lifted = commands({
        command: 'kill-switch',
        input,
        ...(local === undefined ? {} : { stop: { id: local.id } }),
      })
      lifts.set(scope, lifted)
      try {
        const reply = await lifted
        if (reply.status === 200) kill.clearLifted(scope, local?.id)
        return reply
      } finally {
        if (lifts.get(scope) === lifted) lifts.delete(scope)
      }
    },
    wake: repeater.wake,
    close: repeater.close,
  }
}

/**
 * Reports whether the control plane has stored the kill switch. A kill switch that a replica holds in memory only is
 * forwarded again.
 */
function isStored({ body }: CommandReply): boolean {
  return body['stored'] !== false
}

/**
 * Returns the position of the first state that contains the kill switch, or that was stored after its lift. Returns
 * undefined for the reply of a control plane of an earlier version.
 */
function orderOf({ body }: CommandReply): StateOrder | undefined {
  return z.object({ order: StateOrder }).safeParse(body).data?.order
}

import { type CommandBody, CommandReply } from '../../core/wire/gateway/commands.ts'
import { SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import { type ControlClient, jsonOf } from './client/client.ts'

/**
 * Forwards a command of the internal API to the control plane and returns its reply. Returns 503 when the control plane
 * is unreachable, and 502 when it answers with an error or an invalid reply.
 */
export type Commands = (command: CommandBody) => Promise<CommandReply>

export function createCommands(client: ControlClient, controlPlaneUrl: string): Commands {
  return async (command) => {
    try {
      const reply = await client.post(SYNC_PATHS.commands, command)
      const parsed = CommandReply.safeParse(jsonOf(reply))
      if (reply.status === 200 && parsed.success) return parsed.data
      return refused(502, `The control plane answered ${reply.status} to the command ${command.command}.`)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return refused(
        503,
        `The control plane at ${controlPlaneUrl} did not answer (${why}). Nothing was changed. Try again when the control plane is reachable.`,
      )
    }
  }
}

function refused(status: number, message: string): CommandReply {
  return { status, body: { error: 'control plane unreachable', message } }
}

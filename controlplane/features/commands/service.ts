import { ChaperoneError, errorBody } from '../../../core/errors.ts'
import type { CommandBody, CommandReply } from '../../../core/wire/gateway/commands.ts'
import { createAgentCommands } from './agents.ts'
import { createApprovalCommands } from './approvals.ts'
import { createConnectorCommands } from './connectors.ts'
import type { CommandDeps, CommandGateway, CommandHandler } from './context.ts'
import { createGatewayCommands } from './gateway.ts'
import { createPermissionCommands } from './permissions.ts'

/** Runs a command of a gateway's internal API. The reply has the status and body for the caller. */
export type Commands = (gateway: CommandGateway, command: CommandBody) => Promise<CommandReply>

export function createCommands(deps: CommandDeps): Commands {
  const handlers: Readonly<Record<CommandBody['command'], CommandHandler>> = {
    ...createConnectorCommands(deps),
    ...createPermissionCommands(deps),
    ...createApprovalCommands(deps),
    ...createAgentCommands(deps),
    ...createGatewayCommands(deps),
  }
  return async (gateway, command) => {
    try {
      const stop = 'stop' in command ? command.stop : undefined
      const body = await handlers[command.command](gateway, 'input' in command ? command.input : {}, stop)
      return { status: 200, body }
    } catch (error) {
      // A refusal is a reply; an internal error is logged and returned as 500 by the control plane.
      if (!(error instanceof ChaperoneError) || error.status >= 500) throw error
      return { status: error.status, body: errorBody(error) }
    }
  }
}

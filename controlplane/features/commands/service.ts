import { ChaperoneError, errorBody } from '../../../core/errors.ts'
import type { CommandBody, CommandReply } from '../../../core/wire/gateway/commands.ts'
import { createAgentCommands } from './agents.ts'
import { createApprovalCommands } from './approvals.ts'
import { createConnectorCommands } from './connectors.ts'
import type { CommandDeps, CommandGateway, CommandHandlers } from './context.ts'
import { createGatewayCommands } from './gateway.ts'
import { createPermissionCommands } from './permissions.ts'

/**
 * Runs a command that a gateway received on its internal API. The reply contains the status and the body for the
 * gateway's caller.
 */
export type Commands = (gateway: CommandGateway, command: CommandBody) => Promise<CommandReply>

export function createCommands(deps: CommandDeps): Commands {
  const handlers: CommandHandlers<CommandBody['command']> = {
    ...createConnectorCommands(deps),
    ...createPermissionCommands(deps),
    ...createApprovalCommands(deps),
    ...createAgentCommands(deps),
    ...createGatewayCommands(deps),
  }
  return async (gateway, command) => {
    try {
      const forwarded = 'stop' in command ? command.stop : undefined
      const body = await handlers[command.command](
        gateway,
        'input' in command ? command.input : {},
        forwarded,
      )
      return { status: 200, body }
    } catch (error) {
      // A refusal becomes the reply of the command. An internal error is thrown, so that the control plane logs the
      // error and replies with 500.
      if (!(error instanceof ChaperoneError) || error.status >= 500) throw error
      return { status: error.status, body: errorBody(error) }
    }
  }
}

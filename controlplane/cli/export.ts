import { controlPlane } from './client.ts'
import { type Command, EXIT, type Invocation } from './command.ts'

export const exportCommand: Command = {
  name: 'export',
  summary:
    'Prints gateways, connectors, permissions and policies as manifests to commit; never a credential.',
  usage: ['export'],
  details:
    'Applied to an empty installation they decide the same. Each Connector with a credential names a Secret, which you make.\n' +
    'Default policies that nobody changed are left out: every installation begins with them.',
  words: 0,
  options: {},
  examples: [['chaperone export > manifests.yaml', 'everything that is in force']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const text = await controlPlane(invocation).text('/api/dashboard/export?format=manifests')
  invocation.terminal.print(text.trimEnd())
  return EXIT.ok
}

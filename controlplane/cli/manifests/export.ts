import { type ExportEffect, readNotes } from '../../../core/crd/manifests/export-note.ts'
import { controlPlane } from '../client/client.ts'
import { type Command, EXIT, type Invocation } from '../command.ts'

export const exportCommand: Command = {
  name: 'export',
  summary:
    'Prints gateways, connectors, permissions and policies as manifests to commit; never a credential.',
  usage: ['export'],
  details:
    'Applied to an empty installation they decide the same. Each Connector with a credential names a Secret, which you make.\n' +
    'Default policies that nobody changed are left out: every installation begins with them.\n' +
    'What a manifest cannot say, and what would be refused, is named in comments and on standard error; the exit code is 1 then.',
  words: 0,
  options: {},
  examples: [['chaperone export > manifests.yaml', 'everything that is in force']],
  run,
}

const WARNINGS: Readonly<Record<ExportEffect, string>> = {
  left_out: 'Not exported: ',
  refused: 'Refused when applied: ',
  stricter: 'Stricter when applied: ',
}

async function run(invocation: Invocation): Promise<number> {
  const text = await controlPlane(invocation).text('/api/dashboard/export?format=manifests')
  invocation.terminal.print(text.trimEnd())
  const notes = readNotes(text)
  for (const note of notes) invocation.terminal.warn(WARNINGS[note.effect] + note.text)
  return notes.every(({ effect }) => effect === 'stricter') ? EXIT.ok : EXIT.refused
}

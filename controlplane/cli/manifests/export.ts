import { type ExportEffect, readNotes } from '../../../core/crd/manifests/export-note.ts'
import { controlPlane } from '../client/client.ts'
import { type Command, EXIT, type Invocation } from '../command.ts'

export const exportCommand: Command = {
  name: 'export',
  summary: 'Print gateways, connectors, permissions and policies as manifests, without credentials',
  usage: ['export'],
  details:
    'An empty installation makes the same decisions when they are applied. Each Connector with a credential references a Secret that\n' +
    'you create. Unchanged default policies are omitted, because every installation has them. Settings that a manifest cannot\n' +
    'express or that would be refused are listed in comments and on standard error; the exit code is then 1.',
  maxArguments: 0,
  options: {},
  examples: [['chaperone export > manifests.yaml', 'export the configuration that is in force']],
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

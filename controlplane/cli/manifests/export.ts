import { type ExportEffect, readNotes } from '../../../core/crd/manifests/export-note.ts'
import { controlPlane } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'

export const exportCommand: Command = {
  name: 'export',
  summary: 'Print gateways, connectors, permissions and policies as manifests, without credentials',
  usage: ['export [--bundle]'],
  details:
    'An empty installation to which you apply the manifests makes the same decisions. Each Connector with a credential references\n' +
    'a Secret that you create. Unchanged default policies are omitted, because every installation has them. Settings that a manifest cannot\n' +
    'express or that would be refused are listed in comments and on standard error; the exit code is then 1.',
  maxArguments: 0,
  options: { bundle: { type: 'boolean', help: 'print agents and policies as JSON, for chaperone import' } },
  examples: [
    ['chaperone export > manifests.yaml', 'export the configuration that is in force'],
    ['chaperone export --bundle > bundle.json', 'export agents and policies for another installation'],
  ],
  run,
}

const WARNINGS: Readonly<Record<ExportEffect, string>> = {
  left_out: 'Not exported: ',
  refused: 'Refused when applied: ',
  stricter: 'Stricter when applied: ',
}

async function run(invocation: Invocation): Promise<number> {
  const api = controlPlane(invocation)
  if (flag(invocation, 'bundle')) {
    invocation.terminal.print(await api.text('/api/dashboard/export?format=json'))
    return EXIT.ok
  }
  const text = await api.text('/api/dashboard/export?format=manifests')
  invocation.terminal.print(text.trimEnd())
  const notes = readNotes(text)
  for (const note of notes) invocation.terminal.warn(WARNINGS[note.effect] + note.text)
  return notes.every(({ effect }) => effect === 'stricter') ? EXIT.ok : EXIT.refused
}

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { ImportReply } from '../../../core/wire/export.ts'
import { usageError } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { parseJson } from '../state/parse-json.ts'
import { table } from '../terminal/table.ts'

const PATH = '/api/dashboard/import'

export const importCommand: Command = {
  name: 'import',
  summary: 'Import agents and policies from a bundle of another installation',
  usage: ['import FILE [--dry-run]'],
  details:
    'The file is a bundle, as chaperone export --bundle prints it. Items that exist in the same form are left out. A changed policy\n' +
    'becomes a second policy beside the existing one; an agent whose name exists is refused. Each new agent gets a new key, which is\n' +
    'printed once.',
  maxArguments: 1,
  options: {
    'dry-run': { type: 'boolean', help: 'print what is new, changed or the same, and import nothing' },
  },
  examples: [
    ['chaperone import bundle.json --dry-run', 'compare a bundle with this installation'],
    ['chaperone import bundle.json', 'import what is new or changed'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { positionals, cwd } = invocation
  const [file] = positionals
  if (file === undefined) throw usageError(importCommand, 'Give the bundle: chaperone import FILE.')
  const bundle = parseJson(readFileSync(resolve(cwd, file), 'utf8'))
  if (typeof bundle !== 'object' || bundle === null || !('version' in bundle))
    throw new ChaperoneError('validation', {
      detail: `${file} is not a bundle. Create one: chaperone export --bundle > ${file}`,
    })
  const api = userClient(invocation)
  return flag(invocation, 'dry-run')
    ? await preview(invocation, api, bundle)
    : await store(invocation, api, bundle)
}

async function preview(invocation: Invocation, api: ApiClient, bundle: object): Promise<number> {
  const reply = ImportReply.parse(await api.call('POST', PATH, { ...bundle, dry_run: true }))
  const items = reply.preview ?? []
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ preview: items }))
  else {
    const rows = items.map(({ kind, name, state, differs, error }) => [
      kind,
      name,
      state,
      error ?? differs?.join(', '),
    ])
    for (const line of table(['KIND', 'NAME', 'STATE', 'DIFFERENCE'], rows)) print(line)
  }
  return items.some(({ state }) => state === 'invalid') ? EXIT.refused : EXIT.ok
}

async function store(invocation: Invocation, api: ApiClient, bundle: object): Promise<number> {
  const reply = ImportReply.parse(await api.call('POST', PATH, { ...bundle, skip_same: true }))
  if (flag(invocation, 'json')) invocation.terminal.print(JSON.stringify(reply))
  else printReport(invocation.terminal, reply)
  return reply.errors.length === 0 ? EXIT.ok : EXIT.refused
}

function printReport({ print, warn }: Invocation['terminal'], reply: ImportReply): void {
  const { agents_imported: agents, policies_imported: policies, skipped } = reply
  const same = (skipped?.agents.length ?? 0) + (skipped?.policies.length ?? 0)
  print(
    `Imported: agents ${agents}, policies ${policies}. Left out, because they exist in the same form: ${same}.`,
  )
  for (const { name, api_key } of reply.agent_keys)
    print(`Key of ${name}, which is shown only once: ${api_key}`)
  for (const name of reply.policies_disabled)
    warn(
      `The policy ${name} is imported but disabled, because its tests fail. Correct the policy or its tests.`,
    )
  for (const { kind, name, error } of reply.errors) warn(`Not imported: ${kind} ${name}: ${error}`)
}

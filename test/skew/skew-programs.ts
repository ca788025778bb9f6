import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import type { EntrySection, FieldAddition } from '../../core/wire/gateway/sections/field-additions.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { databasesFolder } from '../support/memory-folder.ts'

/** Files of a control plane and a gateway of one version. */
export type Programs = Disposable & {
  readonly title: string
  readonly controlplane: string
  readonly sidecar: string
}

/** A field that the fixture of a newer version adds to the entries with these names (to all without names). */
export type NewerField = FieldAddition & {
  readonly value: unknown
  readonly names?: readonly string[]
}

const ROOT = join(import.meta.dirname, '../..')
const FROZEN = join(import.meta.dirname, 'frozen')

/** The programs of this tree. */
export async function treePrograms(): Promise<Programs> {
  return {
    title: 'tree',
    controlplane: await bundledProgram('controlplane'),
    sidecar: await bundledProgram('sidecar'),
    [Symbol.dispose]() {},
  }
}

type Frozen = Programs & {
  readonly version: string
  /** Paths of the fields of each section at that version. */
  readonly fields: Readonly<Record<EntrySection, readonly string[]>>
}

/** The programs that `scripts/freeze-bundle.ts` froze. */
export function frozenPrograms(): Frozen {
  const name = readdirSync(FROZEN).find((each) => each.endsWith('.json.br')) ?? ''
  const packed = JSON.parse(brotliDecompressSync(readFileSync(join(FROZEN, name))).toString()) as {
    readonly version: string
    readonly files: Readonly<Record<string, string>>
  }
  const folder = mkdtempSync(join(databasesFolder(), 'chaperone-frozen-'))
  for (const [path, text] of Object.entries(packed.files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return {
    title: `frozen ${packed.version}`,
    version: packed.version,
    fields: JSON.parse(packed.files['fields.json'] ?? '{}') as Frozen['fields'],
    controlplane: join(folder, 'controlplane/main.cjs'),
    sidecar: join(folder, 'sidecar/main.cjs'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Version of the fixture of a newer version. */
export const NEWER_VERSION = '0.2.0'

/**
 * The programs of this tree as a newer version: with the fields of the variable `NEWER_FIELDS` (JSON of `NewerField[]`)
 * in the sections, with unknown fields and a message of an unknown type on the stream, with unknown fields in every
 * report of the gateway, and with the members of the variable `NEWER_WORDS` (JSON) in every record.
 */
export async function newerPrograms(): Promise<Programs> {
  const folder = mkdtempSync(join(databasesFolder(), 'chaperone-newer-'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const bundle = async (program: 'controlplane' | 'sidecar') => {
    const outfile = join(folder, `${program}.cjs`)
    await build({
      ...{ absWorkingDir: ROOT, entryPoints: [`${program}/main.ts`], outfile, bundle: true },
      ...{ platform: 'node', target: 'node24', format: 'cjs', logLevel: 'silent' },
      external: ['@kubernetes/client-node'],
      plugins: [withChanges(folder)],
    })
    return outfile
  }
  const [controlplane, sidecar] = await Promise.all([bundle('controlplane'), bundle('sidecar')])
  return {
    ...{ title: 'newer', controlplane, sidecar },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

type Change = readonly [from: string, to: string]

/** Text of sources that the fixture replaces. Each must stand there, else the fixture would add nothing. */
const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  'package.json': [['"version": "0.1.0"', `"version": "${NEWER_VERSION}"`]],
  'core/wire/gateway/sections/field-additions.ts': [
    [
      'FIELD_ADDITIONS: readonly FieldAddition[] = [',
      "FIELD_ADDITIONS: readonly FieldAddition[] = [...JSON.parse(process.env['NEWER_FIELDS'] ?? '[]'),",
    ],
  ],
  'core/wire/gateway/sections/addressed-entry.ts': [
    [
      'export function addressedEntry(',
      `import { addNewerFields } from '${join(import.meta.dirname, 'newer-fields.ts')}'
       export function addressedEntry(entry, section, to) { return addressed(addNewerFields(entry, section), section, to) }
       function addressed(`,
    ],
  ],
  'controlplane/sync/peer.ts': [
    [
      'sendLine(JSON.stringify(message))',
      `{ sendLine('{"type":"newer","x":1}'); sendLine(JSON.stringify({ ...message, newer: { deep: [1] } })) }`,
    ],
  ],
  'sidecar/control/client/client.ts': [
    ['JSON.stringify(body)', 'JSON.stringify({ ...body, newer: { deep: [1] } })'],
  ],
  'sidecar/control/records/batch-writer.ts': [
    [
      'return ({ records, lost }) => {',
      `return ({ records: given, lost }) => {
         const newer = JSON.parse(process.env['NEWER_WORDS'] ?? '{}')
         const records = new Map([...given].map(([id, json]) =>
           [id, Buffer.from(JSON.stringify({ ...JSON.parse(json.toString()), ...newer }))]))`,
    ],
  ],
}

function withChanges(folder: string): Plugin {
  return {
    name: 'newer-version',
    setup({ onLoad }) {
      onLoad({ filter: /\.(ts|json)$/ }, ({ path }) => {
        const place = relative(ROOT, path)
        if (place.startsWith('node_modules')) return null
        const directory = JSON.stringify(relative(folder, dirname(path)))
        const text = readFileSync(path, 'utf8').replaceAll(
          'import.meta.dirname',
          `require('node:path').join(__dirname, ${directory})`,
        )
        const contents = (CHANGES[place] ?? []).reduce(replaced, text)
        return { contents, loader: path.endsWith('.json') ? 'json' : 'ts' }
      })
    },
  }
}

function replaced(text: string, [from, to]: Change): string {
  if (!text.includes(from)) throw new Error(`the fixture of a newer version finds no ${from}: adapt CHANGES`)
  return text.replace(from, () => to)
}

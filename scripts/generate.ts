import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crdText } from './crds/crd.ts'
import { KINDS } from './crds/kinds.ts'

/** Writes `crds/*.yaml` from the schemas; with `--check` only says which files differ, and exits 1 when any does. */
const isCheck = process.argv.includes('--check')
const outArgument = process.argv.indexOf('--out')
const given = outArgument === -1 ? undefined : process.argv[outArgument + 1]
const folder = given ?? fileURLToPath(new URL('../crds', import.meta.url))
const wanted = new Map(KINDS.map((kind) => [`chaperone.dev_${kind.plural}.yaml`, crdText(kind)]))
const present = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.yaml')) : []
const stale = present.filter((name) => !wanted.has(name))
const differing = [...wanted].filter(
  ([name, text]) => !existsSync(join(folder, name)) || readFileSync(join(folder, name), 'utf8') !== text,
)

if (isCheck) {
  for (const [name] of differing)
    console.error(`crds/${name} differs from core/crd/schemas.ts: npm run generate`)
  for (const name of stale) console.error(`crds/${name} is generated no more: npm run generate`)
  process.exitCode = differing.length + stale.length === 0 ? 0 : 1
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of differing) writeFileSync(join(folder, name), text)
  for (const name of stale) rmSync(join(folder, name))
}
console.log(
  `generated files: ${wanted.size}, ${differing.length + stale.length} ${isCheck ? 'differ' : 'written'}`,
)

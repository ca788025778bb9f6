import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crdText } from './crds/crd.ts'
import { KINDS } from './crds/kinds.ts'
import { readmeText } from './readme/generated-block.ts'

/**
 * Writes `crds/*.yaml` from the schemas, and the README's table of settings from what reads them; with `--check` only
 * says which files differ, and exits 1 when any does.
 */
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
const readme = fileURLToPath(new URL('../README.md', import.meta.url))
const readmeBefore = readFileSync(readme, 'utf8')
// Another folder is for looking at the resources alone.
const readmeAfter = given === undefined ? readmeText(readmeBefore) : readmeBefore
const readmeDiffers = readmeAfter === readmeBefore ? 0 : 1

if (isCheck) {
  if (readmeDiffers) console.error('README.md: its generated table is out of date: npm run generate')
  for (const [name] of differing)
    console.error(`crds/${name} differs from core/crd/schemas.ts: npm run generate`)
  for (const name of stale) console.error(`crds/${name} is generated no more: npm run generate`)
  process.exitCode = differing.length + stale.length + readmeDiffers === 0 ? 0 : 1
} else {
  if (readmeDiffers) writeFileSync(readme, readmeAfter)
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of differing) writeFileSync(join(folder, name), text)
  for (const name of stale) rmSync(join(folder, name))
}
console.log(
  `generated files: ${wanted.size + 1}, ${differing.length + stale.length + readmeDiffers} ${isCheck ? 'differ' : 'written'}`,
)

import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RULE_SETTER } from '../../core/capture/pod-contract.ts'
import { podRules } from '../../core/capture/rules.ts'

/** What of a build goes into the image, and where it lies there. */
const COPIED: ReadonlyArray<readonly [from: string, to: string]> = [
  ['bin', 'app/bin'],
  ['dashboard', 'app/dashboard'],
  ['package.json', 'app/package.json'],
]

/**
 * Assembles the folder whose content is the root of the image, on top of Node and an nft: whoever packs it, a container
 * file or a test, only copies it. Answers its path.
 */
export function assembleImage(dist: string): string {
  const image = join(dist, 'image')
  rmSync(image, { recursive: true, force: true })
  for (const [from, to] of COPIED) cpSync(join(dist, from), join(image, to), { recursive: true })
  const rules = join(image, RULE_SETTER.file)
  mkdirSync(dirname(rules), { recursive: true })
  writeFileSync(rules, podRules())
  makeReadable(image)
  return image
}

/** The programs run as anybody: whatever umask the build ran under, everybody may read what is in the image. */
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) makeReadable(path)
    else chmodSync(path, 0o644)
  }
}

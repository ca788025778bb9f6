import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { iptablesScript } from '../../core/capture/iptables.ts'
import { GVISOR_RULE_SETTER, RULE_SETTER } from '../../core/capture/pod-contract.ts'
import { podRules } from '../../core/capture/rules.ts'

/** Files of the image: path in the build output, and path in the image. */
const COPIED: ReadonlyArray<readonly [from: string, to: string]> = [
  ['bin', 'app/bin'],
  ['dashboard', 'app/dashboard'],
  ['package.json', 'app/package.json'],
  ['LICENSE', 'app/LICENSE'],
  ['THIRD-PARTY-NOTICES.txt', 'app/THIRD-PARTY-NOTICES.txt'],
]

/**
 * Assembles the files of the container image in a folder, whose content is copied to the root of a base image with
 * Node, nft and iptables. Returns the path of the folder.
 */
export function assembleImage(dist: string): string {
  const image = join(dist, 'image')
  rmSync(image, { recursive: true, force: true })
  for (const [from, to] of COPIED) cpSync(join(dist, from), join(image, to), { recursive: true })
  const rules = join(image, RULE_SETTER.file)
  mkdirSync(dirname(rules), { recursive: true })
  writeFileSync(rules, podRules())
  writeFileSync(join(image, GVISOR_RULE_SETTER.file), iptablesScript())
  makeReadable(image)
  return image
}

/** Makes all files readable for every user, because the programs run with an arbitrary uid. */
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) makeReadable(path)
    else chmodSync(path, 0o644)
  }
}

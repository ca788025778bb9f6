import { configTable } from '../../controlplane/config-variables.ts'

const BEGIN = '<!-- settings of the control plane, written by npm run generate -->'
const END = '<!-- end of what is generated -->'

/** Returns the README with its generated part updated. Throws when a marker is missing. */
export function readmeText(readme: string): string {
  const from = readme.indexOf(BEGIN)
  const to = readme.indexOf(END, from)
  if (from === -1 || to === -1) throw new Error(`README.md lacks a marker. Restore ${BEGIN} and ${END}.`)
  return `${readme.slice(0, from)}${BEGIN}\n${configTable()}\n${readme.slice(to)}`
}

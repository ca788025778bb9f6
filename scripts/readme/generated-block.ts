import { configTable } from '../../controlplane/config-variables.ts'

const BEGIN = '<!-- settings of the control plane, written by npm run generate -->'
const END = '<!-- end of what is generated -->'

/** The README with its generated part as it should be. Throws when the markers are gone. */
export function readmeText(readme: string): string {
  const from = readme.indexOf(BEGIN)
  const to = readme.indexOf(END, from)
  if (from === -1 || to === -1)
    throw new Error(`README.md has lost its markers: put back ${BEGIN} and ${END}`)
  return `${readme.slice(0, from)}${BEGIN}\n${configTable()}\n${readme.slice(to)}`
}

import { controlPlane } from '../client/client.ts'
import { createOwnerLink } from '../client/owner-link-client.ts'
import { type Command, EXIT, flag } from '../command.ts'

export const ownerLink: Command = {
  name: 'owner-link',
  summary: 'Makes a new link with which the first owner registers, valid for an hour and once.',
  usage: ['owner-link [--json]'],
  details:
    'Whoever opens the link becomes the owner. Once there is an owner no link is made, and earlier ones are void.\n' +
    'In a cluster: kubectl chaperone owner-link.',
  options: {},
  examples: [['chaperone owner-link', 'prints the link']],
  async run(invocation) {
    const { terminal } = invocation
    const link = await createOwnerLink(controlPlane(invocation))
    if (flag(invocation, 'json')) terminal.print(JSON.stringify({ owner_link: link }))
    else
      terminal.print(
        link ?? 'This installation has an owner. An owner invites others on the page Users of the dashboard.',
      )
    return link === null ? EXIT.refused : EXIT.ok
  },
}

import { controlPlane } from '../client/client.ts'
import { createOwnerLink } from '../client/owner-link-client.ts'
import { type Command, EXIT, flag } from '../command.ts'

export const ownerLink: Command = {
  name: 'owner-link',
  summary: 'Create a link with which the first owner registers',
  usage: ['owner-link [--json]'],
  details:
    'The link is valid for an hour and for one registration. The user who opens it becomes the owner. Once the installation has an\n' +
    'owner, no link is created and earlier ones are invalid. In a cluster: kubectl chaperone owner-link.',
  options: {},
  examples: [['chaperone owner-link', 'print the link']],
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

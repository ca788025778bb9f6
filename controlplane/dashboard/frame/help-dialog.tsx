import { Anchor, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { FactList } from '../components/layout/fact-list.tsx'
import { hrefOf } from '../routing/page-location.ts'
import { useSession } from '../session/session.tsx'

/**
 * Shows where to find the cause of a refusal, the commands that diagnose an installation, and the keys of all pages.
 */
export function HelpDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { command, version } = useSession()
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Help"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Section title="Why was a request refused?">
          <Anchor href={hrefOf('traffic', { decision: 'DENY' })} onClick={onClose} underline="always">
            Denied requests
          </Anchor>{' '}
          show the rule that decided. An agent receives the id of its refusal; the search of Traffic finds the
          request by this id.{' '}
          <Anchor href={hrefOf('explain')} onClick={onClose} underline="always">
            Explain
          </Anchor>{' '}
          shows the decision for a request without sending it.
        </Section>
        <Section title="On the command line">
          {COMMANDS.map(([name, about]) => (
            <div key={name} className="note">
              <code>
                {command} {name}
              </code>{' '}
              {about}
            </div>
          ))}
        </Section>
        <Section title="Keys">
          <FactList
            facts={[
              ['Ctrl K, ⌘ K', 'goes to a page, an agent or an approval'],
              ['?', 'lists the keys of Approvals'],
            ]}
          />
        </Section>
        <Section title="Documentation">
          The folder <code>docs</code> of version {version} explains concepts, manifests, the values that
          conditions can read, and troubleshooting.
        </Section>
      </Stack>
    </Modal>
  )
}

const COMMANDS = [
  ['doctor', 'finds what is wrong with the installation'],
  ['status', 'shows gateways, agents and warnings'],
  ['help', 'lists all commands'],
] as const

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <Text fw={600} component="h3" size="md">
        {title}
      </Text>
      <Text component="div" size="sm">
        {children}
      </Text>
    </section>
  )
}

import { Text } from '@mantine/core'
import { Icon } from '../../../components/layout/icon.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** What the agent says for itself: quoted, never believed. */
export function AgentStatement({ text }: { readonly text: string }) {
  return (
    <figure className="agent-statement">
      <figcaption>
        <Icon name="quote" size={16} />
        <Text size="sm" fw={600} component="span">
          The agent says (unverified)
        </Text>
      </figcaption>
      <UntrustedText text={text} isBlock label="Text of the agent" />
    </figure>
  )
}

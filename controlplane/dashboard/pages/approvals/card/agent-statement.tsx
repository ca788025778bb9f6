import { Text } from '@mantine/core'
import { Icon } from '../../../components/layout/icon.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** Quotes the agent's justification for the request, which is untrusted text. */
export function AgentStatement({ text }: { readonly text: string }) {
  return (
    <figure className="agent-statement">
      <figcaption>
        <Icon name="quote" size={16} />
        <Text size="sm" fw={600} component="span">
          Statement of the agent (unverified)
        </Text>
      </figcaption>
      <UntrustedText text={text} isBlock label="Statement of the agent" />
    </figure>
  )
}

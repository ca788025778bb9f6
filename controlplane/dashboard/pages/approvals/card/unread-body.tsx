import { Text } from '@mantine/core'
import type { UnreadBody as Body } from '../../../../../core/wire/gateway/internal.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** States that the gateway could not read the request body, and quotes the beginning of the body if available. */
export function UnreadBody({ body }: { readonly body: Body }) {
  return (
    <figure className="agent-statement">
      <figcaption>
        <Icon name="quote" size={16} />
        <Text size="sm" fw={600} component="span">
          <UntrustedText text={body.description} canGrow />
        </Text>
      </figcaption>
      {body.excerpt === null ? null : <UntrustedText text={body.excerpt} isBlock label="Start of the body" />}
    </figure>
  )
}

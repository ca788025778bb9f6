import { ActionIcon, Box, CopyButton, Group } from '@mantine/core'
import { Icon } from '../layout/icon.tsx'

/** Shows a text with a copy button. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Group wrap="nowrap" align="flex-start" gap={6} className="copy-text">
      <Box component="pre" tabIndex={0} role="region" aria-label={label}>
        {text}
      </Box>
      <CopyButton value={text} timeout={2_000}>
        {({ copied, copy }) => (
          <ActionIcon
            variant="default"
            size="lg"
            onClick={copy}
            aria-label={copied ? `${label} copied` : `Copy ${label}`}
          >
            <Icon name={copied ? 'check' : 'copy'} />
          </ActionIcon>
        )}
      </CopyButton>
    </Group>
  )
}

import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { PageHead } from '../../components/layout/page-head.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useSession } from '../../session/session.tsx'
import { ImportBundle } from './import-bundle.tsx'

/** Exports and imports the configuration of this installation. */
export function Page() {
  const { may } = useSession()
  return (
    <>
      <PageHead
        title="Export and import"
        about="Agents, policies and permissions as files. Exports contain no secrets."
      />
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Panel title="Bundle">
            <Text size="sm" c="dimmed" mb="sm">
              Agents and policies in one JSON file, for another installation or as a backup. It contains no
              keys and no credentials.
            </Text>
            <Group>
              <Button
                component="a"
                variant="default"
                href="/api/dashboard/export"
                download="chaperone-export.json"
              >
                Download bundle
              </Button>
            </Group>
          </Panel>
          <Panel title="Manifests">
            <Text size="sm" c="dimmed" mb="sm">
              Gateways, connectors, permissions and policies as YAML, ready for "chaperone apply", a
              repository or a cluster. Credentials are placeholders that you fill in.
            </Text>
            <Group>
              <Button
                component="a"
                variant="default"
                href="/api/dashboard/export?format=manifests"
                download="chaperone-manifests.yaml"
              >
                Download manifests
              </Button>
            </Group>
          </Panel>
        </SimpleGrid>
        {may('configuration/import') ? (
          <ImportBundle />
        ) : (
          <Text size="sm" c="dimmed">
            Only an owner can import a bundle.
          </Text>
        )}
      </Stack>
    </>
  )
}

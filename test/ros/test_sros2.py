"""The SROS2 policies name what a robot node has in the graph, and nothing beyond it."""

import time
from xml.etree import ElementTree

import pytest
from robot_bench import Bench

from delama_ros.resources import resource

# Enclave of a robot in the policies of this package → what is allowed, as ROS names it.
KINDS = {'publish': 'topic', 'subscribe': 'topic', 'reply': 'service', 'request': 'service'}


def allowed(file: str, node: str) -> dict[str, set[str]]:
    text = resource(f'config/sros2/{file}').read_text().replace('@robot@', 'ann')
    policy = ElementTree.fromstring(text)
    assert policy.get('version') == '0.2.0'
    (profile,) = (p for p in policy.iter('profile') if p.get('node') == node)
    names: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for rule in profile:
        (kind,) = rule.attrib
        assert rule.attrib[kind] == 'ALLOW'
        assert rule.tag == f'{KINDS[kind]}s'
        names[kind] |= {str(each.text) for each in rule.findall(KINDS[kind])}
    return names


@pytest.mark.parametrize('bench', [{'complete': 'true'}], indirect=True)
def test_a_robot_may_do_what_it_does_and_no_more(bench: Bench) -> None:
    graph = bench.node

    def here() -> bool:
        nodes = set(graph.get_node_names_and_namespaces())
        return {('delama', '/ann'), ('delama_rounds', '/ann')} <= nodes

    bench.until(here)
    bench.until(lambda: len(bench.maps) > 1, meanwhile=bench.scan)  # all topics exist by then
    asked = {
        'publish': graph.get_publisher_names_and_types_by_node,
        'subscribe': graph.get_subscriber_names_and_types_by_node,
        'reply': graph.get_service_names_and_types_by_node,
        'request': graph.get_client_names_and_types_by_node,
    }
    # With namespaced_tf or poses of another node a robot has none of these.
    sometimes = {'publish': {'/tf'}, 'subscribe': {'/ann/odom', '/tf', '/tf_static'}}
    end = time.monotonic() + 20
    for node in ('delama', 'delama_rounds'):
        may = allowed('robot.policy.xml', node)
        for kind, ask in asked.items():
            while True:
                does = {name for name, _ in ask(node, '/ann')}
                if may[kind] - sometimes.get(kind, set()) <= does or time.monotonic() > end:
                    break
                time.sleep(0.2)
            assert does <= may[kind], (node, kind)
            assert may[kind] - does <= sometimes.get(kind, set()), (node, kind)


def test_operators_write_no_map_and_no_message_of_robots() -> None:
    may = allowed('operator.policy.xml', 'operator')
    assert may['publish'] == {'/*/initialpose', '/parameter_events', '/rosout'}
    offered = allowed('robot.policy.xml', 'delama')['reply']
    assert may['request'] == {name.replace('/ann/', '/*/') for name in offered}

from posse.agent.ways import IntArray
from posse.protocol.machine import FloatArray

def hear(
    bundles: list[bytes], origins: IntArray, slot: int, low: float, high: float, heard: FloatArray
) -> bool: ...
def best(own: FloatArray, heard: FloatArray, log: float) -> int: ...
